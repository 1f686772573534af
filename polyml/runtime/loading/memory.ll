; Memory for the arrays that kernels make, local ones and results: blocks that calls and dead arrays give back stay at hand
; for the next ones, since the system takes longer to hand out new pages than a kernel takes to fill them.
;
; A block has a line of 64 bytes, then its data:  [0] i64 capacity in bytes  [8] ptr where it begins for the system
; [16] i64 bytes of whole pages, 0 where malloc gave it
; A place is owned by whoever exchanges its size for BUSY, so that threads and nested calls need no lock, and a fork
; in another thread's exchange costs the child that one block.  A size: 0 none, -1 BUSY, else the block's capacity.

@sizes = internal global [64 x i64] zeroinitializer, align 64
@places = internal global [64 x ptr] zeroinitializer, align 64
@turn = internal global i64 0, align 64
@kept = internal global i64 0, align 64
@limit = internal global i64 KEPT_BYTES, align 64

declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.uadd.sat.i64(i64, i64)

define internal void @discard(ptr %block) {
entry:
  %raw.p = getelementptr i8, ptr %block, i64 8
  %raw = load ptr, ptr %raw.p
  %bytes.p = getelementptr i8, ptr %block, i64 16
  %bytes = load i64, ptr %bytes.p
  %is_pages = icmp ne i64 %bytes, 0
  br i1 %is_pages, label %pages, label %heap
pages:
  call void @return_pages(ptr %raw, i64 %bytes)
  ret void
heap:
  call void @free(ptr %raw)
  ret void
}

; Take the block of place i whose size was seen to be `size`; null where another thread was faster.
define internal ptr @claim(i64 %i, i64 %size) {
entry:
  %size.p = getelementptr i64, ptr @sizes, i64 %i
  %tried = cmpxchg ptr %size.p, i64 %size, i64 -1 acq_rel monotonic
  %owned = extractvalue {i64, i1} %tried, 1
  br i1 %owned, label %take, label %lost
take:
  %place = getelementptr ptr, ptr @places, i64 %i
  %block = load ptr, ptr %place
  store atomic i64 0, ptr %size.p release, align 8
  %before = atomicrmw sub ptr @kept, i64 %size acq_rel
  ret ptr %block
lost:
  ret ptr null
}

; The smallest block at hand whose capacity is from `size` to `most`; null where there is none.
define internal ptr @at_hand(i64 %size, i64 %most) {
entry:
  %least = call i64 @llvm.umax.i64(i64 %size, i64 1)
  br label %scan
scan:
  br label %loop
loop:
  %i = phi i64 [ 0, %scan ], [ %next, %loop ]
  %best = phi i64 [ -1, %scan ], [ %best.next, %loop ]
  %where = phi i64 [ 0, %scan ], [ %where.next, %loop ]
  %size.p = getelementptr i64, ptr @sizes, i64 %i
  %here = load atomic i64, ptr %size.p acquire, align 8
  %enough = icmp uge i64 %here, %least
  %sparing = icmp ule i64 %here, %most
  %fits = and i1 %enough, %sparing
  %smaller = icmp ult i64 %here, %best
  %better = and i1 %fits, %smaller
  %best.next = select i1 %better, i64 %here, i64 %best
  %where.next = select i1 %better, i64 %i, i64 %where
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 64
  br i1 %more, label %loop, label %scanned
scanned:
  %none = icmp eq i64 %best.next, -1
  br i1 %none, label %out, label %try
try:
  %block = call ptr @claim(i64 %where.next, i64 %best.next)
  %lost = icmp eq ptr %block, null
  br i1 %lost, label %scan, label %found
found:
  ret ptr %block
out:
  ret ptr null
}

declare i64 @llvm.umax.i64(i64, i64)

; Give the block of one place, in turn, to the system; nothing where that place has none.
define internal void @evict() {
entry:
  %count = atomicrmw add ptr @turn, i64 1 monotonic
  %i = and i64 %count, 63
  %size.p = getelementptr i64, ptr @sizes, i64 %i
  %size = load atomic i64, ptr %size.p acquire, align 8
  %above = add i64 %size, 1
  %nothing = icmp ult i64 %above, 2
  br i1 %nothing, label %exit, label %try
try:
  %block = call ptr @claim(i64 %i, i64 %size)
  %lost = icmp eq ptr %block, null
  br i1 %lost, label %exit, label %drop
drop:
  call void @discard(ptr %block)
  br label %exit
exit:
  ret void
}

; Keep a block at hand. Those that came earlier go to the system where all would be more than the limit.
define internal void @keep(ptr %block) {
entry:
  %capacity = load i64, ptr %block
  %limit = load atomic i64, ptr @limit monotonic, align 8
  %large = icmp ugt i64 %capacity, %limit
  %none = icmp eq i64 %capacity, 0
  %unfit = or i1 %large, %none
  br i1 %unfit, label %drop, label %make_room
make_room:
  %turns = phi i64 [ 0, %entry ], [ %turns.next, %over ]
  %kept = load atomic i64, ptr @kept monotonic, align 8
  %sum = add i64 %kept, %capacity
  %is_over = icmp ugt i64 %sum, %limit
  br i1 %is_over, label %over, label %search
over:
  call void @evict()
  %turns.next = add i64 %turns, 1
  %hopeless = icmp ugt i64 %turns.next, 128
  br i1 %hopeless, label %drop, label %make_room
search:
  %i = phi i64 [ 0, %make_room ], [ %next, %occupied ]
  %size.p = getelementptr i64, ptr @sizes, i64 %i
  %here = load atomic i64, ptr %size.p monotonic, align 8
  %free = icmp eq i64 %here, 0
  br i1 %free, label %own, label %occupied
own:
  %tried = cmpxchg ptr %size.p, i64 0, i64 -1 acq_rel monotonic
  %owned = extractvalue {i64, i1} %tried, 1
  br i1 %owned, label %put, label %occupied
occupied:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 64
  br i1 %more, label %search, label %over
put:
  %place = getelementptr ptr, ptr @places, i64 %i
  store ptr %block, ptr %place
  %before = atomicrmw add ptr @kept, i64 %capacity acq_rel
  store atomic i64 %capacity, ptr %size.p release, align 8
  ret void
drop:
  call void @discard(ptr %block)
  ret void
}

; At least `size` bytes, a number without a sign, that the system hands out; null where it has none left.
define internal ptr @from_system(i64 %size) {
entry:
  %total = call i64 @llvm.uadd.sat.i64(i64 %size, i64 128)
  %small = icmp ult i64 %size, WHOLE_PAGES_FROM
  %absurd = icmp ugt i64 %size, 140737488355328
  %heap = or i1 %small, %absurd
  br i1 %heap, label %ask, label %whole
whole:
  %up = add i64 %size, 65599
  %bytes = and i64 %up, -65536
  %base = call ptr @whole_pages(i64 %bytes)
  %refused = icmp eq ptr %base, null
  br i1 %refused, label %ask, label %paged
paged:
  %room = sub i64 %bytes, 64
  br label %ready
ask:
  %raw = call ptr @malloc(i64 %total)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %out, label %lined
lined:
  %address = ptrtoint ptr %raw to i64
  %above = add i64 %address, 63
  %aligned = and i64 %above, -64
  %line = inttoptr i64 %aligned to ptr
  br label %ready
ready:
  %block = phi ptr [ %base, %paged ], [ %line, %lined ]
  %given = phi ptr [ %base, %paged ], [ %raw, %lined ]
  %capacity = phi i64 [ %room, %paged ], [ %size, %lined ]
  %length = phi i64 [ %bytes, %paged ], [ 0, %lined ]
  store i64 %capacity, ptr %block
  %raw.p = getelementptr i8, ptr %block, i64 8
  store ptr %given, ptr %raw.p
  %bytes.p = getelementptr i8, ptr %block, i64 16
  store i64 %length, ptr %bytes.p
  ret ptr %block
out:
  ret ptr null
}

; The data of a block of at least `size` bytes and, if it was at hand, at most `most`; null where there is no memory left,
; even when all that was at hand is the system's again.
define internal ptr @data_of_at_least(i64 %size, i64 %most) {
entry:
  %old = call ptr @at_hand(i64 %size, i64 %most)
  %is_old = icmp ne ptr %old, null
  br i1 %is_old, label %found, label %new
new:
  %fresh = call ptr @from_system(i64 %size)
  %is_fresh = icmp ne ptr %fresh, null
  br i1 %is_fresh, label %found, label %short
short:
  %freed = call i64 @polyml_give_back()
  %again = call ptr @from_system(i64 %size)
  %failed = icmp eq ptr %again, null
  br i1 %failed, label %out, label %found
found:
  %block = phi ptr [ %old, %entry ], [ %fresh, %new ], [ %again, %short ]
  %data = getelementptr i8, ptr %block, i64 64
  ret ptr %data
out:
  ret ptr null
}

; At least `size` bytes, a number without a sign, at a multiple of 64; null where the system has none left.
define ptr @polyml_acquire(i64 %size) {
  %data = call ptr @data_of_at_least(i64 %size, i64 4611686018427387904)
  ret ptr %data
}

; Give back what polyml_acquire gave.
define void @polyml_release(ptr %data) {
  %block = getelementptr i8, ptr %data, i64 -64
  call void @keep(ptr %block)
  ret void
}

; Give everything that is at hand to the system, and say how many bytes that was.
define i64 @polyml_give_back() {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %sum = phi i64 [ 0, %entry ], [ %sum.next, %next ]
  %size.p = getelementptr i64, ptr @sizes, i64 %i
  %size = load atomic i64, ptr %size.p acquire, align 8
  %above = add i64 %size, 1
  %nothing = icmp ult i64 %above, 2
  br i1 %nothing, label %next, label %try
try:
  %block = call ptr @claim(i64 %i, i64 %size)
  %lost = icmp eq ptr %block, null
  br i1 %lost, label %next, label %drop
drop:
  call void @discard(ptr %block)
  %with = add i64 %sum, %size
  br label %next
next:
  %sum.next = phi i64 [ %sum, %loop ], [ %sum, %try ], [ %with, %drop ]
  %following = add i64 %i, 1
  %more = icmp ult i64 %following, 64
  br i1 %more, label %loop, label %exit
exit:
  ret i64 %sum.next
}
