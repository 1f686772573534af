; The thread pool. One region at a time; a caller that finds the pool in use runs its region alone.
;
; A region has a number of shares, and whoever is there takes one after the other, the caller too: a worker that the
; system does not run for a while takes fewer, and one that comes when all are taken is not waited for. So the gate: open
; while there is a region, with the number of workers that are inside. The caller shuts it once no share is left, and
; waits for those inside alone. What a share computes does not depend on who runs it.
;
; Each worker has two lines of 128 bytes, so that no two cores write to one:
;   [0]   i64 ticket   raised by the caller: there is work       [16] pthread_t
;   [24]  i32 the core it stays off, plus 1; 0: none
;   [128] mutex  [192] cond  [248] i32 sleeping
; The caller has a line like the last one. On Linux and macOS pthread_mutex_t takes 40 to 64 bytes, pthread_cond_t 48.
;
; Nobody misses a wake-up: the one side stores `sleeping` and then loads the ticket or the gate, the other stores that and
; then loads `sleeping`, all sequentially consistent, so at least one of them sees the other's store.

%worker = type { [256 x i8] }
%sleeper = type { [128 x i8] }
%job = type { ptr, ptr, i64 } ; the function, its environment, the number of shares

@workers = internal global [256 x %worker] zeroinitializer, align 128
@caller = internal global %sleeper zeroinitializer, align 128
@job = internal global %job zeroinitializer, align 128
@gate = internal global i64 0, align 128 ; 1: open; 2 for each worker inside
@next = internal global i64 0, align 128 ; share to take
@busy = internal global i32 0, align 128
@started = internal global i64 0, align 128
@spins = internal global i64 0
@spins.alone = internal global i64 0
@cores = internal global i64 1
@set_mask = internal global i32 2

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @sigfillset(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; What a core does in a waiting loop; threads.py fills in the processor's own instruction.
define internal void @relax() {
  RELAX
  ret void
}

; Burns `count` turns of the waiting loop, for the caller to time.
define void @polyml_pool_spin(i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %ticket = load atomic i64, ptr @workers acquire, align 8
  call void @relax()
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; Forget every worker: at the start, and in the child of a fork, which has none of its parent's threads.
; spins: turns of the waiting loop before a thread sleeps. cores: a region of more threads does not spin, since a thread
; that spins keeps another one from running. set_mask: the system's SIG_SETMASK.
define void @polyml_pool_reset(i64 %spins, i64 %cores, i32 %set_mask) {
  call void @llvm.memset.p0.i64(ptr @workers, i8 0, i64 65536, i1 false)
  call void @llvm.memset.p0.i64(ptr @caller, i8 0, i64 128, i1 false)
  call void @sleeper_init(ptr @caller)
  store i64 %spins, ptr @spins.alone
  store i64 %cores, ptr @cores
  store i32 %set_mask, ptr @set_mask
  store i64 0, ptr @started
  store atomic i64 0, ptr @gate seq_cst, align 8
  store atomic i32 0, ptr @busy seq_cst, align 4
  ret void
}

define i64 @polyml_pool_started() {
  %started = load atomic i64, ptr @started monotonic, align 8
  ret i64 %started
}

define internal void @sleeper_init(ptr %sleeper) {
  %cond = getelementptr i8, ptr %sleeper, i64 64
  %a = call i32 @pthread_mutex_init(ptr %sleeper, ptr null)
  %b = call i32 @pthread_cond_init(ptr %cond, ptr null)
  ret void
}

; Wait until *word differs from `old` (differ) or equals it (not differ): spin, then sleep.
define internal void @await(ptr %word, i64 %value, i1 %differ, ptr %sleeper) {
entry:
  %spins = load atomic i64, ptr @spins monotonic, align 8
  br label %spin
spin:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
  %now = load atomic i64, ptr %word acquire, align 8
  %changed = icmp ne i64 %now, %value
  %ready = icmp eq i1 %changed, %differ
  br i1 %ready, label %exit, label %again
again:
  call void @relax()
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %spins
  br i1 %more, label %spin, label %sleep
sleep:
  %cond = getelementptr i8, ptr %sleeper, i64 64
  %sleeping = getelementptr i8, ptr %sleeper, i64 120
  %locked = call i32 @pthread_mutex_lock(ptr %sleeper)
  store atomic i32 1, ptr %sleeping seq_cst, align 4
  br label %check
check:
  %later = load atomic i64, ptr %word seq_cst, align 8
  %changed.later = icmp ne i64 %later, %value
  %ready.later = icmp eq i1 %changed.later, %differ
  br i1 %ready.later, label %wake, label %wait
wait:
  %waited = call i32 @pthread_cond_wait(ptr %cond, ptr %sleeper)
  br label %check
wake:
  store atomic i32 0, ptr %sleeping seq_cst, align 4
  %unlocked = call i32 @pthread_mutex_unlock(ptr %sleeper)
  br label %exit
exit:
  ret void
}

; Wake whoever sleeps there, after what it waits for was stored.
define internal void @rouse(ptr %sleeper) {
entry:
  %sleeping.p = getelementptr i8, ptr %sleeper, i64 120
  %sleeping = load atomic i32, ptr %sleeping.p seq_cst, align 4
  %asleep = icmp ne i32 %sleeping, 0
  br i1 %asleep, label %wake, label %exit
wake:
  %cond = getelementptr i8, ptr %sleeper, i64 64
  %locked = call i32 @pthread_mutex_lock(ptr %sleeper)
  %signalled = call i32 @pthread_cond_signal(ptr %cond)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %sleeper)
  br label %exit
exit:
  ret void
}

; Run shares until all are taken.
define internal void @take() {
entry:
  %fn = load ptr, ptr @job
  %env = load ptr, ptr getelementptr (%job, ptr @job, i64 0, i32 1)
  %shares = load i64, ptr getelementptr (%job, ptr @job, i64 0, i32 2)
  br label %more
more:
  %share = atomicrmw add ptr @next, i64 1 monotonic
  %some = icmp ult i64 %share, %shares
  br i1 %some, label %run, label %exit
run:
  call void %fn(ptr %env, i64 %share, i64 %shares)
  br label %more
exit:
  ret void
}

define internal ptr @work(ptr %worker) {
entry:
  %sleeper = getelementptr i8, ptr %worker, i64 128
  br label %loop
loop:
  %seen = phi i64 [ 0, %entry ], [ %ticket, %come ], [ %ticket, %leave ], [ %ticket, %tell ]
  call void @await(ptr %worker, i64 %seen, i1 true, ptr %sleeper)
  %ticket = load atomic i64, ptr %worker acquire, align 8
  br label %come
come:
  %gate = load atomic i64, ptr @gate monotonic, align 8
  %bit = and i64 %gate, 1
  %open = icmp ne i64 %bit, 0
  br i1 %open, label %enter, label %loop
enter:
  %one.more = add i64 %gate, 2
  %pair = cmpxchg ptr @gate, i64 %gate, i64 %one.more acquire monotonic
  %inside = extractvalue { i64, i1 } %pair, 1
  br i1 %inside, label %leave, label %come
leave:
  call void @take()
  %before = atomicrmw sub ptr @gate, i64 2 seq_cst
  %waited.for = icmp eq i64 %before, 2
  br i1 %waited.for, label %tell, label %loop
tell:
  call void @rouse(ptr @caller)
  br label %loop
}

; Start worker `number`; false if the system gives no more threads. Workers take no signals: they are the user's.
define internal i1 @start(i64 %number) {
  %thread = alloca i64
  %all = alloca [128 x i8], align 8
  %old = alloca [128 x i8], align 8
  %index = sub i64 %number, 1
  %worker = getelementptr [256 x %worker], ptr @workers, i64 0, i64 %index
  %sleeper = getelementptr i8, ptr %worker, i64 128
  %how = load i32, ptr @set_mask
  call void @sleeper_init(ptr %sleeper)
  %filled = call i32 @sigfillset(ptr %all)
  %blocked = call i32 @pthread_sigmask(i32 %how, ptr %all, ptr %old)
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @work, ptr %worker)
  %restored = call i32 @pthread_sigmask(i32 %how, ptr %old, ptr null)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %started, label %none
started:
  %id = load i64, ptr %thread
  %id.p = getelementptr i8, ptr %worker, i64 16
  store i64 %id, ptr %id.p
  %detached = call i32 @pthread_detach(i64 %id)
  store atomic i64 %number, ptr @started monotonic, align 8
  ret i1 true
none:
  ret i1 false
}

; How many threads, the caller among them, can run a region of `wanted` threads; starts what is missing.
define internal i64 @gather(i64 %wanted) {
entry:
  %started = load atomic i64, ptr @started monotonic, align 8
  %present = add i64 %started, 1
  br label %loop
loop:
  %have = phi i64 [ %present, %entry ], [ %more, %start ]
  %enough = icmp uge i64 %have, %wanted
  br i1 %enough, label %exit, label %start
start:
  %more = add i64 %have, 1
  %ok = call i1 @start(i64 %have)
  br i1 %ok, label %loop, label %exit
exit:
  %few = icmp ult i64 %have, %wanted
  %threads = select i1 %few, i64 %have, i64 %wanted
  ret i64 %threads
}

; Run fn(env, share, shares) once for every share in 0..shares-1 on up to `asked` threads and return when all are done: on
; fewer where the system has none, and fn(env, 0, 1) for one thread and while another region runs.
define void @polyml_parallel(ptr %fn, ptr %env, i64 %shares, i64 %asked) {
entry:
  %one = icmp sle i64 %asked, 1
  br i1 %one, label %alone, label %acquire
acquire:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %prepare, label %alone
alone:
  call void %fn(ptr %env, i64 0, i64 1)
  ret void
prepare:
  %many = icmp ugt i64 %asked, 256
  %wanted = select i1 %many, i64 256, i64 %asked
  %threads = call i64 @gather(i64 %wanted)
  %cores = load i64, ptr @cores
  %crowded = icmp ugt i64 %threads, %cores
  %patience = load i64, ptr @spins.alone
  %spins = select i1 %crowded, i64 0, i64 %patience
  %before = load atomic i64, ptr @spins monotonic, align 8
  %same = icmp eq i64 %before, %spins
  br i1 %same, label %job, label %spins.change
spins.change: ; only then: every worker reads this line
  store atomic i64 %spins, ptr @spins monotonic, align 8
  br label %job
job:
  store ptr %fn, ptr @job
  store ptr %env, ptr getelementptr (%job, ptr @job, i64 0, i32 1)
  store i64 %shares, ptr getelementptr (%job, ptr @job, i64 0, i32 2)
  store atomic i64 0, ptr @next monotonic, align 8
  store atomic i64 1, ptr @gate release, align 8
  %workers = sub i64 %threads, 1
  %any = icmp ne i64 %workers, 0
  br i1 %any, label %place, label %run
place:
  %core = call i32 @core()
  br label %send
send:
  %s = phi i64 [ 0, %place ], [ %s.next, %sent ]
  %to = getelementptr [256 x %worker], ptr @workers, i64 0, i64 %s
  %to.sleeper = getelementptr i8, ptr %to, i64 128
  br i1 %crowded, label %sent, label %aside
aside:
  call void @keep_off(ptr %to, i32 %core)
  br label %sent
sent:
  %last = load atomic i64, ptr %to monotonic, align 8
  %ticket = add i64 %last, 1
  store atomic i64 %ticket, ptr %to seq_cst, align 8
  call void @rouse(ptr %to.sleeper)
  %s.next = add i64 %s, 1
  %s.more = icmp ult i64 %s.next, %workers
  br i1 %s.more, label %send, label %run
run:
  call void @take()
  %inside = atomicrmw and ptr @gate, i64 -2 seq_cst
  %nobody = icmp eq i64 %inside, 1
  br i1 %nobody, label %release, label %join
join:
  call void @await(ptr @gate, i64 0, i1 false, ptr @caller)
  br label %release
release:
  store atomic i32 0, ptr @busy release, align 4
  ret void
}
