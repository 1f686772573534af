; Where threads run is the system's choice.

define internal i32 @core() {
  ret i32 0
}

define internal void @keep_off(ptr %worker, i32 %core) {
  ret void
}
