; ModuleID = 'hiaton'
source_filename = "hiaton"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

module asm ".ifndef hia_poll"
module asm ".pushsection .text.hia_poll,\22ax\22,@progbits"
module asm "hia_poll:"
module asm "\09jmpq *hiaR_stub_poll@GOTPCREL(%rip)"
module asm "\09.popsection"
module asm ".endif"

; Function Attrs: nounwind uwtable(sync)
define internal swiftcc { i64, double } @classify_i64_f64_0(ptr swiftself %0, i64 %1, double %2) #0 !dbg !4 {
entry:
  %3 = icmp sgt i64 %1, 0
  br i1 %3, label %then, label %join

join:                                             ; preds = %then, %entry
  %merge = phi i1 [ %4, %then ], [ false, %entry ]
  br i1 %merge, label %then2, label %else

then:                                             ; preds = %entry
  %4 = fcmp ogt double %2, 5.000000e-01
  br label %join

join1:                                            ; preds = %else5, %else4, %then3, %then2
  %merge7 = phi double [ %2, %then2 ], [ %9, %then3 ], [ 0.000000e+00, %else4 ], [ %12, %else5 ]
  %merge6 = phi i64 [ %7, %then2 ], [ 1, %then3 ], [ %1, %else4 ], [ %11, %else5 ]
  %5 = insertvalue { i64, double } poison, i64 %merge6, 0
  %6 = insertvalue { i64, double } %5, double %merge7, 1
  ret { i64, double } %6

then2:                                            ; preds = %join
  %7 = mul i64 %1, 2
  br label %join1

else:                                             ; preds = %join
  %8 = icmp eq i64 %1, 0
  br i1 %8, label %then3, label %else4

then3:                                            ; preds = %else
  %9 = fneg double %2
  br label %join1

else4:                                            ; preds = %else
  %10 = icmp eq i64 %1, -1
  br i1 %10, label %join1, label %else5

else5:                                            ; preds = %else4
  %11 = sub i64 0, %1
  %12 = fadd double %2, 1.000000e+00
  br label %join1
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_0(ptr %0, ptr swiftself %1) #0 !dbg !7 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i64, ptr %word, align 8
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %arg2 = load double, ptr %word1, align 8
  %2 = call swiftcc { i64, double } @classify_i64_f64_0(ptr swiftself %1, i64 %arg, double %arg2), !dbg !8
  %3 = extractvalue { i64, double } %2, 0
  %word3 = getelementptr inbounds i64, ptr %0, i64 2
  store i64 %3, ptr %word3, align 8
  %4 = extractvalue { i64, double } %2, 1
  %word4 = getelementptr inbounds i64, ptr %0, i64 3
  store double %4, ptr %word4, align 8
  ret void
}

; Function Attrs: nounwind uwtable(sync)
define internal swiftcc i64 @main_i64_1(ptr swiftself %0, i64 %1) #0 !dbg !9 {
entry:
  %2 = icmp sgt i64 %1, 0
  br i1 %2, label %then, label %else

join:                                             ; preds = %else2, %else1, %else, %then
  %merge = phi i64 [ %3, %then ], [ 1, %else ], [ %1, %else1 ], [ %6, %else2 ]
  ret i64 %merge

then:                                             ; preds = %entry
  %3 = mul i64 %1, 2
  br label %join

else:                                             ; preds = %entry
  %4 = icmp eq i64 %1, 0
  br i1 %4, label %join, label %else1

else1:                                            ; preds = %else
  %5 = icmp eq i64 %1, -1
  br i1 %5, label %join, label %else2

else2:                                            ; preds = %else1
  %6 = sub i64 0, %1
  br label %join
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_1(ptr %0, ptr swiftself %1) #0 !dbg !10 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i64, ptr %word, align 8
  %2 = call swiftcc i64 @main_i64_1(ptr swiftself %1, i64 %arg), !dbg !11
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  store i64 %2, ptr %word1, align 8
  ret void
}

attributes #0 = { nounwind uwtable(sync) "no-realign-stack" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "hiaton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly, splitDebugInlining: false)
!1 = !DIFile(filename: "branches.hia", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 4}
!4 = distinct !DISubprogram(name: "classify(i64, f64)", scope: !1, file: !1, line: 1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = distinct !DISubprogram(name: "hia_entry_0", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!8 = !DILocation(line: 0, scope: !7)
!9 = distinct !DISubprogram(name: "main(i64)", scope: !1, file: !1, line: 3, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!10 = distinct !DISubprogram(name: "hia_entry_1", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!11 = !DILocation(line: 0, scope: !10)
