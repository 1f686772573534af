; Results are NumPy's arrays whose data lie in blocks of memory.ll: NumPy asks the functions here for them, and gives them
; back when an array dies (the C API's PyDataMem_Handler).

@set_handler = internal global ptr null
@handler = internal global ptr null
@numpy_empty = internal global ptr null

declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare void @Py_DecRef(ptr)
declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; set: PyDataMem_SetHandler, handler: the capsule of the functions below, empty: np.empty.
define void @polyml_arrays_use(ptr %set, ptr %new, ptr %empty) {
  store ptr %set, ptr @set_handler
  store ptr %new, ptr @handler
  store ptr %empty, ptr @numpy_empty
  ret void
}

; A block at hand serves an array that leaves at most a fifth of it unused. Small arrays are malloc's, which keeps what is small.
define ptr @polyml_array_malloc(ptr %context, i64 %size) {
entry:
  %small = icmp ult i64 %size, 65536
  br i1 %small, label %new, label %large
new:
  %block = call ptr @from_system(i64 %size)
  %refused = icmp eq ptr %block, null
  %line = getelementptr i8, ptr %block, i64 64
  %own = select i1 %refused, ptr null, ptr %line
  ret ptr %own
large:
  %quarter = lshr i64 %size, 2
  %wide = add i64 %quarter, 4096
  %most = call i64 @llvm.uadd.sat.i64(i64 %size, i64 %wide)
  %bounded = call i64 @llvm.umin.i64(i64 %most, i64 4611686018427387904)
  %data = call ptr @data_of_at_least(i64 %size, i64 %bounded)
  ret ptr %data
}

define ptr @polyml_array_calloc(ptr %context, i64 %count, i64 %each) {
entry:
  %product = call {i64, i1} @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %size = extractvalue {i64, i1} %product, 0
  %wraps = extractvalue {i64, i1} %product, 1
  br i1 %wraps, label %out, label %ask
ask:
  %data = call ptr @polyml_array_malloc(ptr %context, i64 %size)
  %failed = icmp eq ptr %data, null
  br i1 %failed, label %out, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %size, i1 false)
  ret ptr %data
out:
  ret ptr null
}

define void @polyml_array_free(ptr %context, ptr %data, i64 %size) {
entry:
  %none = icmp eq ptr %data, null
  br i1 %none, label %exit, label %some
some:
  %block = getelementptr i8, ptr %data, i64 -64
  %capacity = load i64, ptr %block
  %small = icmp ult i64 %capacity, 65536
  br i1 %small, label %drop, label %keep
drop:
  call void @discard(ptr %block)
  ret void
keep:
  call void @keep(ptr %block)
  br label %exit
exit:
  ret void
}

define ptr @polyml_array_realloc(ptr %context, ptr %data, i64 %size) {
entry:
  %new = call ptr @polyml_array_malloc(ptr %context, i64 %size)
  %failed = icmp eq ptr %new, null
  %first = icmp eq ptr %data, null
  %over = or i1 %failed, %first
  br i1 %over, label %exit, label %move
move:
  %block = getelementptr i8, ptr %data, i64 -64
  %capacity = load i64, ptr %block
  %bytes = call i64 @llvm.umin.i64(i64 %capacity, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %data, i64 %bytes, i1 false)
  call void @polyml_array_free(ptr %context, ptr %data, i64 0)
  br label %exit
exit:
  ret ptr %new
}

; np.empty(*args), with these functions for its data.
define ptr @polyml_array_empty(ptr %self, ptr %args, i64 %count) {
entry:
  %type.p = alloca ptr
  %value.p = alloca ptr
  %trace.p = alloca ptr
  %set = load ptr, ptr @set_handler
  %own = load ptr, ptr @handler
  %empty = load ptr, ptr @numpy_empty
  %old = call ptr %set(ptr %own)
  %refused = icmp eq ptr %old, null
  br i1 %refused, label %out, label %make
make:
  %made = call ptr @PyObject_Vectorcall(ptr %empty, ptr %args, i64 %count, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %back
error:
  call void @PyErr_Fetch(ptr %type.p, ptr %value.p, ptr %trace.p)
  %own.e = call ptr %set(ptr %old)
  call void @Py_DecRef(ptr %own.e)
  call void @Py_DecRef(ptr %old)
  %type = load ptr, ptr %type.p
  %value = load ptr, ptr %value.p
  %trace = load ptr, ptr %trace.p
  call void @PyErr_Restore(ptr %type, ptr %value, ptr %trace)
  br label %out
back:
  %own.b = call ptr %set(ptr %old)
  call void @Py_DecRef(ptr %own.b)
  call void @Py_DecRef(ptr %old)
  ret ptr %made
out:
  ret ptr null
}

; In the child of a fork, whose other threads are gone in the middle of what they did: what is at hand is counted again.
define void @polyml_arrays_forked() {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %sum.next, %loop ]
  %size.p = getelementptr i64, ptr @sizes, i64 %i
  %size = load i64, ptr %size.p
  %is_busy = icmp eq i64 %size, -1
  %settled = select i1 %is_busy, i64 0, i64 %size
  store i64 %settled, ptr %size.p
  %sum.next = add i64 %sum, %settled
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 64
  br i1 %more, label %loop, label %exit
exit:
  store i64 %sum.next, ptr @kept
  ret void
}

; How many bytes are at hand.
define i64 @polyml_arrays_kept() {
  %kept = load atomic i64, ptr @kept monotonic, align 8
  ret i64 %kept
}

; From now on, keep at most so many bytes at hand.
define void @polyml_arrays_keep_at_most(i64 %bytes) {
entry:
  store atomic i64 %bytes, ptr @limit monotonic, align 8
  %kept = load atomic i64, ptr @kept monotonic, align 8
  %over = icmp ugt i64 %kept, %bytes
  br i1 %over, label %drop, label %exit
drop:
  %freed = call i64 @polyml_give_back()
  br label %exit
exit:
  ret void
}
