; Memory for the local arrays of kernels: blocks that calls give back stay at hand for the next ones, since the system
; takes longer to hand out new pages than a kernel takes to fill them.
;
; A block has a line of 64 bytes, then its data:  [0] i64 capacity in bytes  [8] what malloc gave
; Every exchange of a place is atomic, so that threads and nested calls need no lock.

@places = internal global [8 x ptr] zeroinitializer, align 64
@turn = internal global i64 0, align 64

declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.uadd.sat.i64(i64, i64)

define internal void @discard(ptr %block) {
  %raw.p = getelementptr i8, ptr %block, i64 8
  %raw = load ptr, ptr %raw.p
  call void @free(ptr %raw)
  ret void
}

; At least `size` bytes, a number without a sign, at a multiple of 64; null where the system has none left.
define ptr @polyml_acquire(i64 %size) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %place = getelementptr ptr, ptr @places, i64 %i
  %number = atomicrmw xchg ptr %place, i64 0 acq_rel
  %none = icmp eq i64 %number, 0
  br i1 %none, label %next, label %found
found:
  %block = inttoptr i64 %number to ptr
  %capacity = load i64, ptr %block
  %fits = icmp uge i64 %capacity, %size
  br i1 %fits, label %take, label %back
take:
  %data = getelementptr i8, ptr %block, i64 64
  ret ptr %data
back:
  %tried = cmpxchg ptr %place, i64 0, i64 %number acq_rel monotonic
  %kept = extractvalue {i64, i1} %tried, 1
  br i1 %kept, label %next, label %lost
lost:
  call void @discard(ptr %block)
  br label %next
next:
  %following = add i64 %i, 1
  %more = icmp ult i64 %following, 8
  br i1 %more, label %loop, label %fresh
fresh:
  %total = call i64 @llvm.uadd.sat.i64(i64 %size, i64 128)
  %raw = call ptr @malloc(i64 %total)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %out, label %ready
out:
  ret ptr null
ready:
  %address = ptrtoint ptr %raw to i64
  %above = add i64 %address, 127
  %aligned = and i64 %above, -64
  %new = inttoptr i64 %aligned to ptr
  %new.block = getelementptr i8, ptr %new, i64 -64
  store i64 %size, ptr %new.block
  %new.raw = getelementptr i8, ptr %new.block, i64 8
  store ptr %raw, ptr %new.raw
  ret ptr %new
}

; Give back what polyml_acquire gave. Blocks above a limit go to the system; of the others the last eight stay.
define void @polyml_release(ptr %data) {
entry:
  %block = getelementptr i8, ptr %data, i64 -64
  %number = ptrtoint ptr %block to i64
  %capacity = load i64, ptr %block
  %large = icmp ugt i64 %capacity, KEPT_BYTES
  br i1 %large, label %drop, label %loop
drop:
  call void @discard(ptr %block)
  ret void
loop:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %place = getelementptr ptr, ptr @places, i64 %i
  %tried = cmpxchg ptr %place, i64 0, i64 %number acq_rel monotonic
  %kept = extractvalue {i64, i1} %tried, 1
  br i1 %kept, label %done, label %next
done:
  ret void
next:
  %following = add i64 %i, 1
  %more = icmp ult i64 %following, 8
  br i1 %more, label %loop, label %full
full:
  %count = atomicrmw add ptr @turn, i64 1 monotonic
  %which = and i64 %count, 7
  %victim = getelementptr ptr, ptr @places, i64 %which
  %old = atomicrmw xchg ptr %victim, i64 %number acq_rel
  %gone = icmp eq i64 %old, 0
  br i1 %gone, label %done, label %evict
evict:
  %old.block = inttoptr i64 %old to ptr
  call void @discard(ptr %old.block)
  br label %done
}
