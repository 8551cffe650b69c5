; ModuleID = 'hiaton'
source_filename = "hiaton"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@hia_roots = private constant [2 x { ptr, i32, i32, i32, i32 }] [{ ptr, i32, i32, i32, i32 } { ptr @hia_entry_0, i32 0, i32 2, i32 1, i32 0 }, { ptr, i32, i32, i32, i32 } { ptr @hia_entry_1, i32 1, i32 1, i32 1, i32 1 }], align 64
@hia_module = protected global { i32, i32, i32, i32, ptr, { ptr, ptr, ptr, i64 }, { ptr, ptr, ptr, ptr, i64, i64, i64 }, ptr, i64, ptr, i64, ptr } { i32 1, i32 0, i32 2, i32 0, ptr @hia_roots, { ptr, ptr, ptr, i64 } zeroinitializer, { ptr, ptr, ptr, ptr, i64, i64, i64 } zeroinitializer, ptr null, i64 0, ptr null, i64 0, ptr null }, align 64

; Function Attrs: nounwind uwtable(sync)
define internal swiftcc i32 @table_i32_i32_0(ptr swiftself %0, i32 %1, i32 %2) #0 !dbg !4 {
entry:
  call void asm sideeffect "", "r,~{dirflag},~{fpsr},~{flags}"(ptr %0)
  br label %head

head:                                             ; preds = %exit6, %entry
  %round1 = phi i32 [ 0, %entry ], [ %8, %exit6 ]
  %round = phi i32 [ 0, %entry ], [ %7, %exit6 ]
  %3 = icmp slt i32 %round, %1
  br i1 %3, label %round2, label %exit

round2:                                           ; preds = %head
  br label %head3

exit:                                             ; preds = %head
  ret i32 %round1

head3:                                            ; preds = %round5, %round2
  %round4 = phi i32 [ 0, %round2 ], [ %6, %round5 ]
  %4 = mul i32 %round4, %round4
  %5 = icmp slt i32 %4, %round
  br i1 %5, label %round5, label %exit6

round5:                                           ; preds = %head3
  %6 = add i32 %round4, %2
  br label %head3

exit6:                                            ; preds = %head3
  %7 = add i32 %round, 1
  %8 = add i32 %round1, %round4
  br label %head
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_0(ptr %0, ptr swiftself %1) #0 !dbg !7 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i32, ptr %word, align 4
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %arg2 = load i32, ptr %word1, align 4
  %2 = call swiftcc i32 @table_i32_i32_0(ptr swiftself %1, i32 %arg, i32 %arg2), !dbg !8
  %word3 = getelementptr inbounds i64, ptr %0, i64 2
  %3 = sext i32 %2 to i64
  store i64 %3, ptr %word3, align 8
  ret void
}

; Function Attrs: nounwind uwtable(sync)
define internal swiftcc i32 @main_i32_1(ptr swiftself %0, i32 %1) #0 !dbg !9 {
entry:
  call void asm sideeffect "", "r,~{dirflag},~{fpsr},~{flags}"(ptr %0)
  br label %head

head:                                             ; preds = %exit6, %entry
  %round1 = phi i32 [ 0, %entry ], [ %8, %exit6 ]
  %round = phi i32 [ 0, %entry ], [ %7, %exit6 ]
  %2 = icmp slt i32 %round, %1
  br i1 %2, label %round2, label %exit

round2:                                           ; preds = %head
  br label %head3

exit:                                             ; preds = %head
  %3 = add i32 %round1, %1
  ret i32 %3

head3:                                            ; preds = %round5, %round2
  %round4 = phi i32 [ 0, %round2 ], [ %6, %round5 ]
  %4 = mul i32 %round4, %round4
  %5 = icmp slt i32 %4, %round
  br i1 %5, label %round5, label %exit6

round5:                                           ; preds = %head3
  %6 = add i32 %round4, 2
  br label %head3

exit6:                                            ; preds = %head3
  %7 = add i32 %round, 1
  %8 = add i32 %round1, %round4
  br label %head
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_1(ptr %0, ptr swiftself %1) #0 !dbg !10 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i32, ptr %word, align 4
  %2 = call swiftcc i32 @main_i32_1(ptr swiftself %1, i32 %arg), !dbg !11
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %3 = sext i32 %2 to i64
  store i64 %3, ptr %word1, align 8
  ret void
}

; Function Attrs: nounwind uwtable(sync)
define protected i32 @hia_typed_0(ptr %0, i32 %1, i32 %2, ptr %3) #1 {
entry:
  %block = alloca [3 x i64], align 8
  %word = getelementptr inbounds i64, ptr %block, i64 0
  %4 = sext i32 %1 to i64
  store i64 %4, ptr %word, align 8
  %word1 = getelementptr inbounds i64, ptr %block, i64 1
  %5 = sext i32 %2 to i64
  store i64 %5, ptr %word1, align 8
  %6 = call i32 @hiaR_enter(ptr %0, ptr @hia_module, i32 0, ptr %block)
  %7 = icmp ne i32 %6, 0
  br i1 %7, label %failed, label %done, !prof !12

failed:                                           ; preds = %entry
  ret i32 %6

done:                                             ; preds = %entry
  %word2 = getelementptr inbounds i64, ptr %block, i64 2
  %arg = load i32, ptr %word2, align 4
  %8 = icmp eq ptr %3, null
  br i1 %8, label %next, label %store, !prof !12

store:                                            ; preds = %done
  store i32 %arg, ptr %3, align 4
  br label %next

next:                                             ; preds = %store, %done
  ret i32 0
}

; Function Attrs: nounwind
declare i32 @hiaR_enter(ptr, ptr, i32, ptr) #2

; Function Attrs: nounwind uwtable(sync)
define protected i32 @hia_typed_1(ptr %0, i32 %1, ptr %2) #1 {
entry:
  %block = alloca [2 x i64], align 8
  %word = getelementptr inbounds i64, ptr %block, i64 0
  %3 = sext i32 %1 to i64
  store i64 %3, ptr %word, align 8
  %4 = call i32 @hiaR_enter(ptr %0, ptr @hia_module, i32 1, ptr %block)
  %5 = icmp ne i32 %4, 0
  br i1 %5, label %failed, label %done, !prof !12

failed:                                           ; preds = %entry
  ret i32 %4

done:                                             ; preds = %entry
  %word1 = getelementptr inbounds i64, ptr %block, i64 1
  %arg = load i32, ptr %word1, align 4
  %6 = icmp eq ptr %2, null
  br i1 %6, label %next, label %store, !prof !12

store:                                            ; preds = %done
  store i32 %arg, ptr %2, align 4
  br label %next

next:                                             ; preds = %store, %done
  ret i32 0
}

attributes #0 = { nounwind uwtable(sync) "no-realign-stack" }
attributes #1 = { nounwind uwtable(sync) }
attributes #2 = { nounwind }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "hiaton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly, splitDebugInlining: false)
!1 = !DIFile(filename: "loops.hia", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 4}
!4 = distinct !DISubprogram(name: "table(i32, i32)", scope: !1, file: !1, line: 1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = distinct !DISubprogram(name: "hia_entry_0", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!8 = !DILocation(line: 0, scope: !7)
!9 = distinct !DISubprogram(name: "main(i32)", scope: !1, file: !1, line: 3, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!10 = distinct !DISubprogram(name: "hia_entry_1", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!11 = !DILocation(line: 0, scope: !10)
!12 = !{!"branch_weights", i32 1, i32 1048576}
