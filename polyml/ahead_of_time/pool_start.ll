; What starts the pool of threads in a library: on the first use, and in the child of a fork. It follows the text of threads.ll.

@ready = internal global i32 0 ; 1: being started; 2: started
@cores.usable = internal global i64 1
@spins.measured = internal global i64 1
@asked = internal global i64 0 ; how many threads calls run on; 0: one for each core

declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_atfork(ptr, ptr, ptr)
declare <16 x i64> @llvm.ctpop.v16i64(<16 x i64>)
declare i64 @llvm.vector.reduce.add.v16i64(<16 x i64>)

define internal i64 @nanoseconds() {
  %time = alloca [2 x i64], align 8
  store [2 x i64] zeroinitializer, ptr %time
  %failed = call i32 @clock_gettime(i32 1, ptr %time) ; CLOCK_MONOTONIC
  %seconds = load i64, ptr %time
  %rest.p = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.p
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}

; The cores that this process may use; 1 where the system does not say.
define internal i64 @usable_cores() {
entry:
  %mask = alloca [128 x i8], align 64
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %words = load <16 x i64>, ptr %mask, align 8
  %counts = call <16 x i64> @llvm.ctpop.v16i64(<16 x i64> %words)
  %count = call i64 @llvm.vector.reduce.add.v16i64(<16 x i64> %counts)
  %none = icmp eq i64 %count, 0
  %cores = select i1 %none, i64 1, i64 %count
  ret i64 %cores
}

define internal void @restart() {
  %spins = load i64, ptr @spins.measured
  %cores = load i64, ptr @cores.usable
  call void @polyml_pool_reset(i64 %spins, i64 %cores, i32 2) ; SIG_SETMASK
  ret void
}

define internal void @prepare() {
entry:
  %pair = cmpxchg ptr @ready, i32 0, i32 1 acq_rel acquire
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %start, label %wait
start:
  %cores = call i64 @usable_cores()
  store i64 %cores, ptr @cores.usable
  %before = call i64 @nanoseconds()
  call void @polyml_pool_spin(i64 2000)
  %after = call i64 @nanoseconds()
  %taken = sub i64 %after, %before
  %short = icmp slt i64 %taken, 200
  %time = select i1 %short, i64 200, i64 %taken
  %spins = udiv i64 2000000000, %time ; turns of one millisecond
  store i64 %spins, ptr @spins.measured
  call void @restart()
  %registered = call i32 @pthread_atfork(ptr null, ptr null, ptr @restart)
  store atomic i32 2, ptr @ready release, align 4
  ret void
wait:
  %now = load atomic i32, ptr @ready acquire, align 4
  %done = icmp eq i32 %now, 2
  br i1 %done, label %exit, label %again
again:
  call void @relax()
  br label %wait
exit:
  ret void
}

define i64 @polyml_threads_in_use() {
entry:
  call void @prepare()
  %asked = load atomic i64, ptr @asked monotonic, align 8
  %cores = load i64, ptr @cores.usable
  %all = icmp slt i64 %asked, 1
  %count = select i1 %all, i64 %cores, i64 %asked
  %many = icmp sgt i64 %count, 256
  %threads = select i1 %many, i64 256, i64 %count
  ret i64 %threads
}

define void @polyml_set_threads(i64 %count) {
  store atomic i64 %count, ptr @asked monotonic, align 8
  ret void
}
