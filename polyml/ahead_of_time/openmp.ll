; Parallel loops on OpenMP's threads, through the functions that GCC's code calls and that LLVM's libomp has too.
;
; A region has shares, which threads take one after the other, as in threads.ll. Inside of another parallel region one thread takes
; all in one.

%region = type { ptr, ptr, i64, i64 } ; the function, its environment, the number of shares, the next one

@asked = internal global i64 0 ; how many threads calls run on; 0: what OpenMP says

declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_get_max_threads()
declare i32 @omp_in_parallel()

define internal void @take(ptr %region) {
entry:
  %fn = load ptr, ptr %region
  %env.p = getelementptr %region, ptr %region, i64 0, i32 1
  %env = load ptr, ptr %env.p
  %shares.p = getelementptr %region, ptr %region, i64 0, i32 2
  %shares = load i64, ptr %shares.p
  %next = getelementptr %region, ptr %region, i64 0, i32 3
  br label %more
more:
  %share = atomicrmw add ptr %next, i64 1 monotonic
  %some = icmp ult i64 %share, %shares
  br i1 %some, label %run, label %exit
run:
  call void %fn(ptr %env, i64 %share, i64 %shares)
  br label %more
exit:
  ret void
}

define void @polyml_parallel(ptr %fn, ptr %env, i64 %shares, i64 %asked) {
entry:
  %region = alloca %region, align 64
  %one = icmp sle i64 %asked, 1
  br i1 %one, label %alone, label %look
look:
  %inside = call i32 @omp_in_parallel()
  %nested = icmp ne i32 %inside, 0
  br i1 %nested, label %alone, label %run
alone:
  call void %fn(ptr %env, i64 0, i64 1)
  ret void
run:
  store ptr %fn, ptr %region
  %env.p = getelementptr %region, ptr %region, i64 0, i32 1
  store ptr %env, ptr %env.p
  %shares.p = getelementptr %region, ptr %region, i64 0, i32 2
  store i64 %shares, ptr %shares.p
  %next = getelementptr %region, ptr %region, i64 0, i32 3
  store i64 0, ptr %next
  %threads = trunc i64 %asked to i32
  call void @GOMP_parallel(ptr @take, ptr %region, i32 %threads, i32 0)
  ret void
}

define i64 @polyml_threads_in_use() {
entry:
  %asked = load atomic i64, ptr @asked monotonic, align 8
  %all = icmp slt i64 %asked, 1
  br i1 %all, label %default, label %given
default:
  %said = call i32 @omp_get_max_threads()
  %wide = sext i32 %said to i64
  br label %given
given:
  %count = phi i64 [ %asked, %entry ], [ %wide, %default ]
  %many = icmp sgt i64 %count, 256
  %threads = select i1 %many, i64 256, i64 %count
  ret i64 %threads
}

define void @polyml_set_threads(i64 %count) {
  store atomic i64 %count, ptr @asked monotonic, align 8
  ret void
}
