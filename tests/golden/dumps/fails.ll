; ModuleID = 'hiaton'
source_filename = "hiaton"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; Function Attrs: noinline nounwind uwtable(sync)
define internal swiftcc i32 @part_i32_i32_0(ptr swiftself %0, i32 %1, i32 %2) #0 !dbg !4 {
entry:
  %3 = add i32 %2, 1
  %is_special = icmp ule i32 %3, 1
  br i1 %is_special, label %special, label %divide, !prof !7

special:                                          ; preds = %entry
  %is_zero = icmp eq i32 %2, 0
  br i1 %is_zero, label %by_zero, label %minus_one

divide:                                           ; preds = %entry
  %4 = sdiv i32 %1, %2
  br label %divided

minus_one:                                        ; preds = %special
  %is_least = icmp eq i32 %1, -2147483648
  br i1 %is_least, label %overflow, label %negate, !prof !7

by_zero:                                          ; preds = %special
  call void @hiaR_stub_fail(ptr swiftself %0, i32 3, i32 16, i64 0)
  unreachable

overflow:                                         ; preds = %minus_one
  call void @hiaR_stub_fail(ptr swiftself %0, i32 3, i32 17, i64 0)
  unreachable

negate:                                           ; preds = %minus_one
  %5 = sub i32 0, %1
  br label %divided

divided:                                          ; preds = %divide, %negate
  %quotient = phi i32 [ %5, %negate ], [ %4, %divide ]
  ret i32 %quotient
}

; Function Attrs: noinline nounwind uwtable(sync)
define internal swiftcc i32 @sum_i32_i32_1(ptr swiftself %0, i32 %1, i32 %2) #0 !dbg !8 {
entry:
  %3 = icmp eq i32 %1, 0
  br i1 %3, label %join, label %else

join:                                             ; preds = %divided, %entry
  %merge = phi i32 [ 0, %entry ], [ %9, %divided ]
  ret i32 %merge

else:                                             ; preds = %entry
  call void asm sideeffect "cmpq %rsp, $0\0A\09ja 2f\0A1:\0A\09.subsection 1\0A2:\09addq $$-128, %rsp\0A\09pushq %rax\0A\09leaq 1b(%rip), %rax\0A\09callq hiaR_stub_poll@PLT\0A\09popq %rax\0A\09subq $$-128, %rsp\0A\09jmp 1b\0A\09.subsection 0", "*m,~{dirflag},~{fpsr},~{flags}"(ptr elementtype(i64) %0), !dbg !9
  %4 = add i32 %2, 1
  %is_special = icmp ule i32 %4, 1
  br i1 %is_special, label %special, label %divide, !prof !7

special:                                          ; preds = %else
  %is_zero = icmp eq i32 %2, 0
  br i1 %is_zero, label %by_zero, label %minus_one

divide:                                           ; preds = %else
  %5 = sdiv i32 %1, %2
  br label %divided

minus_one:                                        ; preds = %special
  %is_least = icmp eq i32 %1, -2147483648
  br i1 %is_least, label %overflow, label %negate, !prof !7

by_zero:                                          ; preds = %special
  call void @hiaR_stub_fail(ptr swiftself %0, i32 20, i32 16, i64 0)
  unreachable

overflow:                                         ; preds = %minus_one
  call void @hiaR_stub_fail(ptr swiftself %0, i32 20, i32 17, i64 0)
  unreachable

negate:                                           ; preds = %minus_one
  %6 = sub i32 0, %1
  br label %divided

divided:                                          ; preds = %divide, %negate
  %quotient = phi i32 [ %6, %negate ], [ %5, %divide ]
  %7 = sub i32 %1, 1
  %8 = call swiftcc i32 @sum_i32_i32_1(ptr swiftself %0, i32 %7, i32 %2) #3, !dbg !10
  %9 = add i32 %quotient, %8
  br label %join
}

; Function Attrs: noinline nounwind uwtable(sync)
define internal swiftcc i32 @main_i32_i32_2(ptr swiftself %0, i32 %1, i32 %2) #0 !dbg !11 {
entry:
  %3 = add i32 %2, 1
  %is_special = icmp ule i32 %3, 1
  br i1 %is_special, label %special, label %divide, !prof !7

special:                                          ; preds = %entry
  %is_zero = icmp eq i32 %2, 0
  br i1 %is_zero, label %by_zero, label %minus_one

divide:                                           ; preds = %entry
  %4 = srem i32 7, %2
  br label %divided

minus_one:                                        ; preds = %special
  br i1 false, label %overflow, label %negate, !prof !7

by_zero:                                          ; preds = %special
  call void @hiaR_stub_fail(ptr swiftself %0, i32 14, i32 16, i64 0)
  unreachable

overflow:                                         ; preds = %minus_one
  call void @hiaR_stub_fail(ptr swiftself %0, i32 14, i32 17, i64 0)
  unreachable

negate:                                           ; preds = %minus_one
  br label %divided

divided:                                          ; preds = %divide, %negate
  %rem = phi i32 [ 0, %negate ], [ %4, %divide ]
  %5 = icmp slt i32 %1, 0
  br i1 %5, label %then, label %else

join:                                             ; preds = %else, %dead
  %merge = phi i32 [ poison, %dead ], [ %6, %else ]
  ret i32 %merge

then:                                             ; preds = %divided
  %code = sext i32 %1 to i64
  call void @hiaR_stub_fail(ptr swiftself %0, i32 18, i32 18, i64 %code)
  unreachable

else:                                             ; preds = %divided
  call void asm sideeffect "cmpq %rsp, $0\0A\09ja 2f\0A1:\0A\09.subsection 1\0A2:\09addq $$-128, %rsp\0A\09pushq %rax\0A\09leaq 1b(%rip), %rax\0A\09callq hiaR_stub_poll@PLT\0A\09popq %rax\0A\09subq $$-128, %rsp\0A\09jmp 1b\0A\09.subsection 0", "*m,~{dirflag},~{fpsr},~{flags}"(ptr elementtype(i64) %0), !dbg !12
  %6 = call swiftcc i32 @sum_i32_i32_1(ptr swiftself %0, i32 %1, i32 %2) #3, !dbg !13
  br label %join

dead:                                             ; No predecessors!
  br label %join
}

; Function Attrs: cold noreturn nounwind
declare void @hiaR_stub_fail(ptr swiftself, i32, i32, i64) #1

; Function Attrs: nounwind uwtable(sync)
define swiftcc void @hia_entry_0(ptr %0, ptr swiftself %1) #2 !dbg !14 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i32, ptr %word, align 4
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %arg2 = load i32, ptr %word1, align 4
  %2 = call swiftcc i32 @part_i32_i32_0(ptr swiftself %1, i32 %arg, i32 %arg2), !dbg !15
  %word3 = getelementptr inbounds i64, ptr %0, i64 2
  %3 = sext i32 %2 to i64
  store i64 %3, ptr %word3, align 8
  ret void
}

; Function Attrs: nounwind uwtable(sync)
define swiftcc void @hia_entry_1(ptr %0, ptr swiftself %1) #2 !dbg !16 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i32, ptr %word, align 4
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %arg2 = load i32, ptr %word1, align 4
  %2 = call swiftcc i32 @sum_i32_i32_1(ptr swiftself %1, i32 %arg, i32 %arg2), !dbg !17
  %word3 = getelementptr inbounds i64, ptr %0, i64 2
  %3 = sext i32 %2 to i64
  store i64 %3, ptr %word3, align 8
  ret void
}

; Function Attrs: nounwind uwtable(sync)
define swiftcc void @hia_entry_2(ptr %0, ptr swiftself %1) #2 !dbg !18 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i32, ptr %word, align 4
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %arg2 = load i32, ptr %word1, align 4
  %2 = call swiftcc i32 @main_i32_i32_2(ptr swiftself %1, i32 %arg, i32 %arg2), !dbg !19
  %word3 = getelementptr inbounds i64, ptr %0, i64 2
  %3 = sext i32 %2 to i64
  store i64 %3, ptr %word3, align 8
  ret void
}

attributes #0 = { noinline nounwind uwtable(sync) "disable-tail-calls"="true" "no-realign-stack" }
attributes #1 = { cold noreturn nounwind }
attributes #2 = { nounwind uwtable(sync) "no-realign-stack" }
attributes #3 = { nomerge }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "hiaton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly, splitDebugInlining: false)
!1 = !DIFile(filename: "fails.hia", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 4}
!4 = distinct !DISubprogram(name: "part(i32, i32)", scope: !1, file: !1, line: 1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !{!"branch_weights", i32 1, i32 1048576}
!8 = distinct !DISubprogram(name: "sum(i32, i32)", scope: !1, file: !1, line: 3, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!9 = !DILocation(line: 3, scope: !8)
!10 = !DILocation(line: 23, scope: !8)
!11 = distinct !DISubprogram(name: "main(i32, i32)", scope: !1, file: !1, line: 5, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!12 = !DILocation(line: 5, scope: !11)
!13 = !DILocation(line: 40, scope: !11)
!14 = distinct !DISubprogram(name: "hia_entry_0", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!15 = !DILocation(line: 0, scope: !14)
!16 = distinct !DISubprogram(name: "hia_entry_1", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!17 = !DILocation(line: 0, scope: !16)
!18 = distinct !DISubprogram(name: "hia_entry_2", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!19 = !DILocation(line: 0, scope: !18)
