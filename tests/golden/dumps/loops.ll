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
define internal swiftcc i32 @table_i32_i32_0(ptr swiftself %0, i32 %1, i32 %2) #0 !dbg !4 {
entry:
  call void asm sideeffect "", "r,~{dirflag},~{fpsr},~{flags}"(ptr %0)
  br label %head

head:                                             ; preds = %exit6, %entry
  %round1 = phi i32 [ 0, %entry ], [ %8, %exit6 ]
  %round = phi i32 [ 0, %entry ], [ %7, %exit6 ]
  %3 = icmp slt i32 %round, %1
  br i1 %3, label %round2, label %exit, !dbg !7

round2:                                           ; preds = %head
  br label %head3

exit:                                             ; preds = %head
  ret i32 %round1

head3:                                            ; preds = %round5, %round2
  %round4 = phi i32 [ 0, %round2 ], [ %6, %round5 ]
  %4 = mul i32 %round4, %round4
  %5 = icmp slt i32 %4, %round
  br i1 %5, label %round5, label %exit6, !dbg !8

round5:                                           ; preds = %head3
  %6 = add i32 %round4, %2
  br label %head3, !dbg !8

exit6:                                            ; preds = %head3
  %7 = add i32 %round, 1
  %8 = add i32 %round1, %round4
  br label %head, !dbg !7
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_0(ptr %0, ptr swiftself %1) #0 !dbg !9 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i32, ptr %word, align 4
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %arg2 = load i32, ptr %word1, align 4
  %2 = call swiftcc i32 @table_i32_i32_0(ptr swiftself %1, i32 %arg, i32 %arg2), !dbg !10
  %word3 = getelementptr inbounds i64, ptr %0, i64 2
  %3 = sext i32 %2 to i64
  store i64 %3, ptr %word3, align 8
  ret void
}

; Function Attrs: nounwind uwtable(sync)
define internal swiftcc i32 @main_i32_1(ptr swiftself %0, i32 %1) #0 !dbg !11 {
entry:
  call void asm sideeffect "", "r,~{dirflag},~{fpsr},~{flags}"(ptr %0)
  br label %head

head:                                             ; preds = %exit6, %entry
  %round1 = phi i32 [ 0, %entry ], [ %8, %exit6 ]
  %round = phi i32 [ 0, %entry ], [ %7, %exit6 ]
  %2 = icmp slt i32 %round, %1
  br i1 %2, label %round2, label %exit, !dbg !12

round2:                                           ; preds = %head
  br label %head3

exit:                                             ; preds = %head
  %3 = add i32 %round1, %1
  ret i32 %3

head3:                                            ; preds = %round5, %round2
  %round4 = phi i32 [ 0, %round2 ], [ %6, %round5 ]
  %4 = mul i32 %round4, %round4
  %5 = icmp slt i32 %4, %round
  br i1 %5, label %round5, label %exit6, !dbg !13

round5:                                           ; preds = %head3
  %6 = add i32 %round4, 2
  br label %head3, !dbg !13

exit6:                                            ; preds = %head3
  %7 = add i32 %round, 1
  %8 = add i32 %round1, %round4
  br label %head, !dbg !12
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_1(ptr %0, ptr swiftself %1) #0 !dbg !14 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i32, ptr %word, align 4
  %2 = call swiftcc i32 @main_i32_1(ptr swiftself %1, i32 %arg), !dbg !15
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %3 = sext i32 %2 to i64
  store i64 %3, ptr %word1, align 8
  ret void
}

attributes #0 = { nounwind uwtable(sync) "no-realign-stack" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "hiaton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly, splitDebugInlining: false)
!1 = !DIFile(filename: "loops.hia", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 4}
!4 = distinct !DISubprogram(name: "table(i32, i32)", scope: !1, file: !1, line: 1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 5, scope: !4)
!8 = !DILocation(line: 13, scope: !4)
!9 = distinct !DISubprogram(name: "hia_entry_0", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!10 = !DILocation(line: 0, scope: !9)
!11 = distinct !DISubprogram(name: "main(i32)", scope: !1, file: !1, line: 3, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!12 = !DILocation(line: 45, scope: !11)
!13 = !DILocation(line: 49, scope: !11)
!14 = distinct !DISubprogram(name: "hia_entry_1", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!15 = !DILocation(line: 0, scope: !14)
