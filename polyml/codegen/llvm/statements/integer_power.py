"""Integer powers whose exponents are known only at run time: the LLVM text of a function that code calls."""

from __future__ import annotations

NAME = "polyml_power"
# base ** exponent by repeated squaring; the flag is set if a Python int (checked) leaves 64 bits
DEFINITION = """define internal i64 @polyml_power(i64 %base, i64 %exponent, i1 %checked, ptr %flag) nounwind {
entry:
  %negative = icmp slt i64 %exponent, 0
  br i1 %negative, label %wrong, label %loop
wrong:
  store i8 -2, ptr %flag
  ret i64 0
loop:
  %e = phi i64 [ %exponent, %entry ], [ %e2, %next ]
  %b = phi i64 [ %base, %entry ], [ %b2, %next ]
  %r = phi i64 [ 1, %entry ], [ %r2, %next ]
  %lost = phi i1 [ false, %entry ], [ %lost2, %next ]
  %done = icmp eq i64 %e, 0
  br i1 %done, label %end, label %next
next:
  %odd = trunc i64 %e to i1
  %rm = call {i64, i1} @llvm.smul.with.overflow.i64(i64 %r, i64 %b)
  %rv = extractvalue {i64, i1} %rm, 0
  %ro = extractvalue {i64, i1} %rm, 1
  %r2 = select i1 %odd, i64 %rv, i64 %r
  %used = and i1 %odd, %ro
  %e2 = lshr i64 %e, 1
  %bm = call {i64, i1} @llvm.smul.with.overflow.i64(i64 %b, i64 %b)
  %b2 = extractvalue {i64, i1} %bm, 0
  %bo = extractvalue {i64, i1} %bm, 1
  %more = icmp ne i64 %e2, 0
  %needed = and i1 %more, %bo
  %l1 = or i1 %lost, %used
  %lost2 = or i1 %l1, %needed
  br label %loop
end:
  %report = and i1 %checked, %lost
  br i1 %report, label %mark, label %finish
mark:
  store i8 -2, ptr %flag
  br label %finish
finish:
  ret i64 %r
}
declare {i64, i1} @llvm.smul.with.overflow.i64(i64, i64)"""
