; The native entry of every kernel: a Python function (METH_FASTCALL) that checks its arguments against a description,
; fills the kernel's slots and runs it without the GIL. It decides nothing that is not certain: whatever does not match
; returns the description's MISS object, and Python does the rest.
;
; `self` is a bytes object holding the description, 64-bit words; entry.py writes it:
;   0 kernel   1 arguments   2 threads   3 slots   4 MISS   5 failed   6 None   7 True   8 numpy.ndarray
;   9 guards   10 pairs   11 bool
;   16.. argument records of 9 words, then guard records of 3 words, then pairs of 2 words
; argument record: 0 kind   1 type   2 descr   3 ndim   4 layout   5 itemsize   6 written   7 slots after the
;   first   8 alignment
;   kind   0 array   1 i8   2 i16   3 i32   4 64 bits   5 u8   6 u16   7 32 bits   8 Python int   9 Python bool
;          10 array of 8 bytes that receives a result   11 two times 64 bits   12 two times 32 bits
;   layout 0 C   1 F   2 any; written: 0 no   1 yes   2 yes, and the array may overlap itself
; guard record: 0 dict or cell   1 key, or null for a cell   2 expected value, or null for absent
; pair: the numbers of two arguments whose memory must not overlap
;
; Offsets of CPython's and NumPy's structures, which entry.py compares with probes before it uses this file:
;   object: 8 type; number: 16 value; array: 16 data, 24 nd, 32 dimensions, 40 strides, 56 descr, 64 flags

declare ptr @PyBytes_AsString(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyCell_Get(ptr)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)

define ptr @polyml_entry(ptr %self, ptr %args, i64 %count) {
entry:
  %d = call ptr @PyBytes_AsString(ptr %self)
  %arguments = call i64 @word(ptr %d, i64 1)
  %complete = icmp eq i64 %count, %arguments
  br i1 %complete, label %guards, label %miss

guards:
  %records = getelementptr i64, ptr %d, i64 16
  %record.words = mul i64 %arguments, 9
  %guard.records = getelementptr i64, ptr %records, i64 %record.words
  %guard.count = call i64 @word(ptr %d, i64 9)
  %guard.words = mul i64 %guard.count, 3
  %pairs = getelementptr i64, ptr %guard.records, i64 %guard.words
  %unchanged = call i1 @guards_hold(ptr %guard.records, i64 %guard.count)
  br i1 %unchanged, label %begin, label %miss

begin:
  %slot.count = call i64 @word(ptr %d, i64 3)
  %slots = alloca i64, i64 %slot.count, align 16
  %range.words = mul i64 %arguments, 2
  %ranges = alloca i64, i64 %range.words, align 16
  %threads = call i64 @word(ptr %d, i64 2)
  store i64 %threads, ptr %slots
  %any = icmp ne i64 %arguments, 0
  br i1 %any, label %argument, label %overlap

argument:
  %i = phi i64 [ 0, %begin ], [ %i.next, %advance ]
  %at = phi i64 [ 1, %begin ], [ %at.next, %advance ]
  %record.at = mul i64 %i, 9
  %record = getelementptr i64, ptr %records, i64 %record.at
  %object.p = getelementptr ptr, ptr %args, i64 %i
  %object = load ptr, ptr %object.p
  %out = getelementptr i64, ptr %slots, i64 %at
  %type = call i64 @word(ptr %object, i64 1)
  %type.wanted = call i64 @word(ptr %record, i64 1)
  %type.same = icmp eq i64 %type, %type.wanted
  br i1 %type.same, label %typed, label %miss
typed:
  %kind = load i64, ptr %record
  %is.array = icmp eq i64 %kind, 0
  br i1 %is.array, label %array, label %scalar
array:
  %range.at = mul i64 %i, 2
  %range = getelementptr i64, ptr %ranges, i64 %range.at
  %array.ok = call i1 @read_array(ptr %object, ptr %record, ptr %out, ptr %range)
  br label %next
scalar:
  %true = call i64 @word(ptr %d, i64 7)
  %scalar.ok = call i1 @read_scalar(ptr %object, i64 %kind, i64 %true, ptr %out)
  br label %next
next:
  %ok = phi i1 [ %array.ok, %array ], [ %scalar.ok, %scalar ]
  %more.words = call i64 @word(ptr %record, i64 7)
  %at.after = add i64 %at, 1
  %at.next = add i64 %at.after, %more.words
  %i.next = add i64 %i, 1
  %last = icmp eq i64 %i.next, %arguments
  br i1 %ok, label %advance, label %miss
advance:
  br i1 %last, label %overlap, label %argument

overlap:
  %pair.count = call i64 @word(ptr %d, i64 10)
  %apart = call i1 @disjoint(ptr %ranges, ptr %pairs, i64 %pair.count)
  br i1 %apart, label %run, label %miss

run:
  %kernel.word = load i64, ptr %d
  %kernel = inttoptr i64 %kernel.word to ptr
  %state = call ptr @PyEval_SaveThread()
  %status = call i64 %kernel(ptr %slots)
  call void @PyEval_RestoreThread(ptr %state)
  %done = icmp eq i64 %status, 0
  br i1 %done, label %results, label %failed

results:
  call void @store_results(ptr %args, ptr %records, i64 %arguments, ptr %slots)
  %none.word = call i64 @word(ptr %d, i64 6)
  %none = inttoptr i64 %none.word to ptr
  call void @Py_IncRef(ptr %none)
  ret ptr %none

failed:
  %failed.word = call i64 @word(ptr %d, i64 5)
  %callable = inttoptr i64 %failed.word to ptr
  %number = call ptr @PyLong_FromLongLong(i64 %status)
  %lost = icmp eq ptr %number, null
  br i1 %lost, label %raise, label %report
report:
  %outcome = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %callable, ptr %number, ptr null)
  call void @Py_DecRef(ptr %number)
  ret ptr %outcome
raise:
  ret ptr null

miss:
  %miss.word = call i64 @word(ptr %d, i64 4)
  %miss.object = inttoptr i64 %miss.word to ptr
  call void @Py_IncRef(ptr %miss.object)
  ret ptr %miss.object
}

define internal i64 @word(ptr %base, i64 %index) alwaysinline {
  %p = getelementptr i64, ptr %base, i64 %index
  %value = load i64, ptr %p
  ret i64 %value
}

; Every global and closure variable the kernel was compiled with is still the same object.
define internal i1 @guards_hold(ptr %guards, i64 %count) {
entry:
  %any = icmp ne i64 %count, 0
  br i1 %any, label %loop, label %yes
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %at = mul i64 %i, 3
  %guard = getelementptr i64, ptr %guards, i64 %at
  %place = load ptr, ptr %guard
  %key.p = getelementptr i64, ptr %guard, i64 1
  %key = load ptr, ptr %key.p
  %expected.p = getelementptr i64, ptr %guard, i64 2
  %expected = load ptr, ptr %expected.p
  %is.cell = icmp eq ptr %key, null
  br i1 %is.cell, label %cell, label %dict
cell:
  %content = call ptr @PyCell_Get(ptr %place)
  %empty = icmp eq ptr %content, null
  br i1 %empty, label %compare, label %drop
drop: ; PyCell_Get counted a reference; the cell still holds its own
  call void @Py_DecRef(ptr %content)
  br label %compare
dict:
  %item = call ptr @PyDict_GetItemWithError(ptr %place, ptr %key)
  %absent = icmp eq ptr %item, null
  br i1 %absent, label %clear, label %compare
clear:
  call void @PyErr_Clear()
  br label %compare
compare:
  %found = phi ptr [ null, %cell ], [ %content, %drop ], [ %item, %dict ], [ null, %clear ]
  %same = icmp eq ptr %found, %expected
  br i1 %same, label %next, label %no
next:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %count
  br i1 %more, label %loop, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; One number into one slot; false for a Python int of more than 64 bits.
define internal i1 @read_scalar(ptr %object, i64 %kind, i64 %true, ptr %out) {
entry:
  %value = getelementptr i8, ptr %object, i64 16
  %overflow.p = alloca i32
  switch i64 %kind, label %no [
    i64 1, label %i8
    i64 2, label %i16
    i64 3, label %i32
    i64 4, label %word64
    i64 5, label %u8
    i64 6, label %u16
    i64 7, label %u32
    i64 8, label %int
    i64 9, label %bool
    i64 10, label %receiver
    i64 11, label %pair64
    i64 12, label %pair32
  ]
i8:
  %i8.v = load i8, ptr %value
  %i8.w = sext i8 %i8.v to i64
  br label %store
i16:
  %i16.v = load i16, ptr %value
  %i16.w = sext i16 %i16.v to i64
  br label %store
i32:
  %i32.v = load i32, ptr %value
  %i32.w = sext i32 %i32.v to i64
  br label %store
word64:
  %w64 = load i64, ptr %value
  br label %store
u8:
  %u8.v = load i8, ptr %value
  %u8.w = zext i8 %u8.v to i64
  br label %store
u16:
  %u16.v = load i16, ptr %value
  %u16.w = zext i16 %u16.v to i64
  br label %store
u32:
  %u32.v = load i32, ptr %value
  %u32.w = zext i32 %u32.v to i64
  br label %store
int:
  %int.v = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow.p)
  %overflow = load i32, ptr %overflow.p
  %fits = icmp eq i32 %overflow, 0
  br i1 %fits, label %store, label %no
bool:
  %address = ptrtoint ptr %object to i64
  %is.true = icmp eq i64 %address, %true
  %bool.w = zext i1 %is.true to i64
  br label %store
pair64: ; a complex number: the second part here, the first one as every word
  %second64.p = getelementptr i8, ptr %value, i64 8
  %second64 = load i64, ptr %second64.p
  %out64 = getelementptr i64, ptr %out, i64 1
  store i64 %second64, ptr %out64
  br label %word64
pair32:
  %second32.p = getelementptr i8, ptr %value, i64 4
  %second32 = load i32, ptr %second32.p
  %second32.w = zext i32 %second32 to i64
  %out32 = getelementptr i64, ptr %out, i64 1
  store i64 %second32.w, ptr %out32
  br label %u32
receiver: ; the kernel writes this slot
  br label %store
store:
  %w = phi i64 [ %i8.w, %i8 ], [ %i16.w, %i16 ], [ %i32.w, %i32 ], [ %w64, %word64 ], [ %u8.w, %u8 ],
               [ %u16.w, %u16 ], [ %u32.w, %u32 ], [ %int.v, %int ], [ %bool.w, %bool ], [ 0, %receiver ]
  store i64 %w, ptr %out
  ret i1 true
no:
  ret i1 false
}

; Data pointer, shape and strides into 1 + 2*ndim slots, and the bytes [low, high) the array reaches into %range;
; false unless the array is what the record says.
define internal i1 @read_array(ptr %array, ptr %record, ptr %out, ptr %range) {
entry:
  %descr = call i64 @word(ptr %array, i64 7)
  %descr.wanted = call i64 @word(ptr %record, i64 2)
  %descr.same = icmp eq i64 %descr, %descr.wanted
  br i1 %descr.same, label %dimensions, label %no
dimensions:
  %nd.p = getelementptr i8, ptr %array, i64 24
  %nd.32 = load i32, ptr %nd.p
  %nd = sext i32 %nd.32 to i64
  %nd.wanted = call i64 @word(ptr %record, i64 3)
  %nd.same = icmp eq i64 %nd, %nd.wanted
  br i1 %nd.same, label %access, label %no
access:
  %flags.p = getelementptr i8, ptr %array, i64 64
  %flags = load i32, ptr %flags.p
  %writable.bit = and i32 %flags, 1024 ; NPY_ARRAY_WRITEABLE
  %readonly = icmp eq i32 %writable.bit, 0
  %written = call i64 @word(ptr %record, i64 6)
  %is.written = icmp ne i64 %written, 0
  %refused = and i1 %readonly, %is.written
  br i1 %refused, label %no, label %read
read:
  %data = call i64 @word(ptr %array, i64 2)
  %shape.word = call i64 @word(ptr %array, i64 4)
  %strides.word = call i64 @word(ptr %array, i64 5)
  %shape = inttoptr i64 %shape.word to ptr
  %strides = inttoptr i64 %strides.word to ptr
  %itemsize = call i64 @word(ptr %record, i64 5)
  %layout = call i64 @word(ptr %record, i64 4)
  store i64 %data, ptr %out
  %out.shape = getelementptr i64, ptr %out, i64 1
  %out.strides = getelementptr i64, ptr %out.shape, i64 %nd
  %data.end = add i64 %data, %itemsize
  %scalar = icmp eq i64 %nd, 0
  br i1 %scalar, label %read.end, label %dimension

dimension:
  %k = phi i64 [ 0, %read ], [ %k.next, %dimension.next ]
  %low = phi i64 [ %data, %read ], [ %low.next, %dimension.next ]
  %high = phi i64 [ %data.end, %read ], [ %high.next, %dimension.next ]
  %bits = phi i64 [ %data, %read ], [ %bits.next, %dimension.next ]
  %empty = phi i1 [ false, %read ], [ %empty.next, %dimension.next ]
  %n = call i64 @word(ptr %shape, i64 %k)
  %s = call i64 @word(ptr %strides, i64 %k)
  %single = icmp sle i64 %n, 1
  %s.used = select i1 %single, i64 %itemsize, i64 %s ; NumPy leaves any number there
  %n.p = getelementptr i64, ptr %out.shape, i64 %k
  %s.p = getelementptr i64, ptr %out.strides, i64 %k
  store i64 %n, ptr %n.p
  store i64 %s.used, ptr %s.p
  %n.less = sub i64 %n, 1
  %reach = mul i64 %n.less, %s
  %reach.used = select i1 %single, i64 0, i64 %reach
  %backward = icmp slt i64 %reach.used, 0
  %down = select i1 %backward, i64 %reach.used, i64 0
  %up = select i1 %backward, i64 0, i64 %reach.used
  %low.next = add i64 %low, %down
  %high.next = add i64 %high, %up
  %bits.next = or i64 %bits, %s.used
  %zero = icmp eq i64 %n, 0
  %empty.next = or i1 %empty, %zero
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %nd
  br label %dimension.next
dimension.next:
  br i1 %k.more, label %dimension, label %read.end

read.end:
  %first = phi i64 [ %data, %read ], [ %low.next, %dimension.next ]
  %end = phi i64 [ %data.end, %read ], [ %high.next, %dimension.next ]
  %bits.all = phi i64 [ %data, %read ], [ %bits.next, %dimension.next ]
  %is.empty = phi i1 [ false, %read ], [ %empty.next, %dimension.next ]
  %first.kept = select i1 %is.empty, i64 -1, i64 %first ; an empty array overlaps nothing
  %end.kept = select i1 %is.empty, i64 0, i64 %end
  %range.end = getelementptr i64, ptr %range, i64 1
  store i64 %first.kept, ptr %range
  store i64 %end.kept, ptr %range.end
  %alignment = call i64 @word(ptr %record, i64 8)
  %mask = sub i64 %alignment, 1
  %odd.bits = and i64 %bits.all, %mask
  %aligned = icmp eq i64 %odd.bits, 0
  br i1 %scalar, label %layout.scalar, label %layout.array

layout.scalar: ; C if aligned, else any
  %scalar.layout = select i1 %aligned, i64 0, i64 2
  %scalar.ok = icmp eq i64 %scalar.layout, %layout
  ret i1 %scalar.ok

; "unit": aligned, and the dimension has the stride of one element. "fits" also lets one element or none pass, whose
; stride does not matter. C takes what fits C; F what fits F and is not unit in C; any what is unit in neither.
layout.array:
  %nd.less = sub i64 %nd, 1
  %last.n = call i64 @word(ptr %shape, i64 %nd.less)
  %last.s = call i64 @word(ptr %strides, i64 %nd.less)
  %last.single = icmp sle i64 %last.n, 1
  %last.unit = icmp eq i64 %last.s, %itemsize
  %last.many = xor i1 %last.single, true
  %c.unit.raw = and i1 %last.unit, %last.many
  %c.unit = and i1 %c.unit.raw, %aligned
  %c.loose.raw = or i1 %last.unit, %last.single
  %c.loose = or i1 %c.loose.raw, %is.empty
  %c.fits = and i1 %c.loose, %aligned
  %first.n = load i64, ptr %shape
  %first.s = load i64, ptr %strides
  %first.single = icmp sle i64 %first.n, 1
  %first.unit = icmp eq i64 %first.s, %itemsize
  %first.many = xor i1 %first.single, true
  %f.unit.raw = and i1 %first.unit, %first.many
  %f.unit = and i1 %f.unit.raw, %aligned
  %f.loose.raw = or i1 %first.unit, %first.single
  %f.loose = or i1 %f.loose.raw, %is.empty
  %f.fits.raw = and i1 %f.loose, %aligned
  %not.c = xor i1 %c.unit, true
  %not.f = xor i1 %f.unit, true
  %f.fits = and i1 %f.fits.raw, %not.c
  %any.fits = and i1 %not.c, %not.f
  %is.c = icmp eq i64 %layout, 0
  %is.f = icmp eq i64 %layout, 1
  %f.or.any = select i1 %is.f, i1 %f.fits, i1 %any.fits
  %layout.ok = select i1 %is.c, i1 %c.fits, i1 %f.or.any
  br i1 %layout.ok, label %written.check, label %no

written.check: ; only of an array that is written and not yet known to overlap itself
  %once = icmp eq i64 %written, 1
  %full = xor i1 %is.empty, true
  %check = and i1 %once, %full
  br i1 %check, label %self, label %yes
self:
  %distinct = call i1 @distinct(i64 %nd, ptr %shape, ptr %strides, i64 %itemsize)
  ret i1 %distinct
yes:
  ret i1 true
no:
  ret i1 false
}

; No two elements share a byte: every stride steps over all elements that the smaller strides (and, of equal ones, the
; later dimensions) reach.
define internal i1 @distinct(i64 %nd, ptr %shape, ptr %strides, i64 %itemsize) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.next ]
  %n = call i64 @word(ptr %shape, i64 %i)
  %s = call i64 @word(ptr %strides, i64 %i)
  %s.size = call i64 @llvm.abs.i64(i64 %s, i1 false)
  %single = icmp sle i64 %n, 1
  br i1 %single, label %outer.next, label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %inner ]
  %reach = phi i64 [ %itemsize, %outer ], [ %reach.next, %inner ]
  %m = call i64 @word(ptr %shape, i64 %j)
  %t = call i64 @word(ptr %strides, i64 %j)
  %t.size = call i64 @llvm.abs.i64(i64 %t, i1 false)
  %smaller = icmp ult i64 %t.size, %s.size
  %equal = icmp eq i64 %t.size, %s.size
  %later = icmp ugt i64 %j, %i
  %tie = and i1 %equal, %later
  %inside = or i1 %smaller, %tie
  %many = icmp sgt i64 %m, 1
  %counts = and i1 %inside, %many
  %m.less = sub i64 %m, 1
  %span = mul i64 %m.less, %t.size
  %added = select i1 %counts, i64 %span, i64 0
  %reach.next = add i64 %reach, %added
  %j.next = add i64 %j, 1
  %j.more = icmp ult i64 %j.next, %nd
  br i1 %j.more, label %inner, label %compare
compare:
  %overlaps = icmp ult i64 %s.size, %reach.next
  br i1 %overlaps, label %no, label %outer.next
outer.next:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %nd
  br i1 %more, label %outer, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

declare i64 @llvm.abs.i64(i64, i1)

define internal i1 @disjoint(ptr %ranges, ptr %pairs, i64 %count) {
entry:
  %any = icmp ne i64 %count, 0
  br i1 %any, label %loop, label %yes
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %at = shl i64 %i, 1
  %pair = getelementptr i64, ptr %pairs, i64 %at
  %a = call i64 @word(ptr %pair, i64 0)
  %b = call i64 @word(ptr %pair, i64 1)
  %a.at = shl i64 %a, 1
  %b.at = shl i64 %b, 1
  %a.range = getelementptr i64, ptr %ranges, i64 %a.at
  %b.range = getelementptr i64, ptr %ranges, i64 %b.at
  %a.low = call i64 @word(ptr %a.range, i64 0)
  %a.high = call i64 @word(ptr %a.range, i64 1)
  %b.low = call i64 @word(ptr %b.range, i64 0)
  %b.high = call i64 @word(ptr %b.range, i64 1)
  %a.before = icmp ult i64 %a.low, %b.high
  %b.before = icmp ult i64 %b.low, %a.high
  %overlap = and i1 %a.before, %b.before
  br i1 %overlap, label %no, label %next
next:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %count
  br i1 %more, label %loop, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; The slots of kind 10 into the arrays that receive them.
define internal void @store_results(ptr %args, ptr %records, i64 %count, ptr %slots) {
entry:
  %any = icmp ne i64 %count, 0
  br i1 %any, label %loop, label %exit
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %at = phi i64 [ 1, %entry ], [ %at.next, %next ]
  %record.at = mul i64 %i, 9
  %record = getelementptr i64, ptr %records, i64 %record.at
  %kind = load i64, ptr %record
  %words = call i64 @word(ptr %record, i64 7)
  %receives = icmp eq i64 %kind, 10
  br i1 %receives, label %receive, label %next
receive:
  %object.p = getelementptr ptr, ptr %args, i64 %i
  %object = load ptr, ptr %object.p
  %data.p = getelementptr i64, ptr %object, i64 2
  %data = load ptr, ptr %data.p
  %value = call i64 @word(ptr %slots, i64 %at)
  store i64 %value, ptr %data
  br label %next
next:
  %at.after = add i64 %at, 1
  %at.next = add i64 %at.after, %words
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %count
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
