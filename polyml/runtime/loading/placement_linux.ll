; Workers stay off the core that the caller runs on.
;
; A worker that is woken on its caller's core has to wait for it, and the system takes tens of milliseconds to see that
; another core is idle. Where the worker runs among the other cores is the system's choice.

declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @pthread_setaffinity_np(i64, i64, ptr)

define internal i32 @core() {
  %core = call i32 @sched_getcpu()
  ret i32 %core
}

; Let the worker run wherever the caller may, except on the caller's core; nothing where that leaves no core.
define internal void @keep_off(ptr %worker, i32 %core) {
entry:
  %mask = alloca [128 x i8], align 8
  %known.p = getelementptr i8, ptr %worker, i64 24
  %known = load i32, ptr %known.p
  %mark = add i32 %core, 1
  %same = icmp eq i32 %known, %mark
  br i1 %same, label %exit, label %change
change:
  store i32 %mark, ptr %known.p
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %got = icmp eq i32 %failed, 0
  %named = icmp ult i32 %core, 1024
  %usable = and i1 %got, %named
  br i1 %usable, label %clear, label %exit
clear:
  %index = lshr i32 %core, 3
  %byte.p = getelementptr i8, ptr %mask, i32 %index
  %byte = load i8, ptr %byte.p
  %position = and i32 %core, 7
  %bit = shl i32 1, %position
  %others = xor i32 %bit, 255
  %kept = trunc i32 %others to i8
  %cleared = and i8 %byte, %kept
  store i8 %cleared, ptr %byte.p
  %words = load <16 x i64>, ptr %mask, align 8
  %any = call i64 @llvm.vector.reduce.or.v16i64(<16 x i64> %words)
  %empty = icmp eq i64 %any, 0
  br i1 %empty, label %exit, label %place
place:
  %id.p = getelementptr i8, ptr %worker, i64 16
  %id = load i64, ptr %id.p
  %placed = call i32 @pthread_setaffinity_np(i64 %id, i64 128, ptr %mask)
  br label %exit
exit:
  ret void
}

declare i64 @llvm.vector.reduce.or.v16i64(<16 x i64>)
