; No whole pages: malloc has them.

define internal ptr @whole_pages(i64 %bytes) {
  ret ptr null
}

define internal void @return_pages(ptr %base, i64 %bytes) {
  ret void
}
