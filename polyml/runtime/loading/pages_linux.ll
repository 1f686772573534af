; Whole pages from the system, huge ones where it has them: a huge page is one fault where small ones are 512.

declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)

; `bytes`, a multiple of 65536, at a multiple of 2 MiB; null where the system has none left.
define internal ptr @whole_pages(i64 %bytes) {
entry:
  %room = add i64 %bytes, 2097152
  %raw = call ptr @mmap(ptr null, i64 %room, i32 3, i32 34, i32 -1, i64 0)
  %address = ptrtoint ptr %raw to i64
  %failed = icmp eq i64 %address, -1
  br i1 %failed, label %out, label %got
got:
  %above = add i64 %address, 2097151
  %aligned = and i64 %above, -2097152
  %base = inttoptr i64 %aligned to ptr
  %head = sub i64 %aligned, %address
  %has_head = icmp ne i64 %head, 0
  br i1 %has_head, label %cut_head, label %behind
cut_head:
  %cut = call i32 @munmap(ptr %raw, i64 %head)
  br label %behind
behind:
  %tail = sub i64 2097152, %head
  %end = getelementptr i8, ptr %base, i64 %bytes
  %has_tail = icmp ne i64 %tail, 0
  br i1 %has_tail, label %cut_tail, label %advise
cut_tail:
  %cut2 = call i32 @munmap(ptr %end, i64 %tail)
  br label %advise
advise:
  %ignored = call i32 @madvise(ptr %base, i64 %bytes, i32 14)
  ret ptr %base
out:
  ret ptr null
}

define internal void @return_pages(ptr %base, i64 %bytes) {
  %ignored = call i32 @munmap(ptr %base, i64 %bytes)
  ret void
}
