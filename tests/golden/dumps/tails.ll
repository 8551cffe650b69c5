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

; Function Attrs: noinline nounwind uwtable(sync)
define internal swiftcc i64 @gcd_i64_i64_0(ptr swiftself %0, i64 %1, i64 %2) #0 !dbg !4 {
entry:
  call void asm sideeffect "", "r,~{dirflag},~{fpsr},~{flags}"(ptr %0)
  br label %head

head:                                             ; preds = %divided, %entry
  %round1 = phi i64 [ %2, %entry ], [ %rem, %divided ]
  %round = phi i64 [ %1, %entry ], [ %round1, %divided ]
  %3 = icmp ne i64 %round1, 0
  br i1 %3, label %round2, label %exit, !dbg !7

round2:                                           ; preds = %head
  %4 = add i64 %round1, 1
  %is_special = icmp ule i64 %4, 1
  br i1 %is_special, label %special, label %divide, !prof !8

exit:                                             ; preds = %head
  ret i64 %round

special:                                          ; preds = %round2
  %is_zero = icmp eq i64 %round1, 0
  %is_least = icmp eq i64 %round, -9223372036854775808
  %fails = or i1 %is_zero, %is_least
  br i1 %fails, label %failing, label %negate, !prof !8

divide:                                           ; preds = %round2
  %5 = srem i64 %round, %round1
  br label %divided

failing:                                          ; preds = %special
  %status = select i1 %is_zero, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 7, i32 %status, i64 0)
  unreachable

negate:                                           ; preds = %special
  br label %divided

divided:                                          ; preds = %divide, %negate
  %rem = phi i64 [ 0, %negate ], [ %5, %divide ]
  br label %head, !dbg !7
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_0(ptr %0, ptr swiftself %1) #1 !dbg !9 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i64, ptr %word, align 8
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %arg2 = load i64, ptr %word1, align 8
  %2 = call swiftcc i64 @gcd_i64_i64_0(ptr swiftself %1, i64 %arg, i64 %arg2), !dbg !10
  %word3 = getelementptr inbounds i64, ptr %0, i64 2
  store i64 %2, ptr %word3, align 8
  ret void
}

; Function Attrs: nounwind uwtable(sync)
define internal swiftcc zeroext i1 @even_i64_1(ptr swiftself %0, i64 %1) #1 !dbg !11 {
entry:
  call void asm sideeffect "cmpq %rsp, (%r13)\0A\09ja 2f\0A1:\0A\09.subsection 1\0A2:\09addq $$-128, %rsp\0A\09pushq %rax\0A\09leaq 1b(%rip), %rax\0A\09callq hia_poll@PLT\0A\09popq %rax\0A\09subq $$-128, %rsp\0A\09jmp 1b\0A\09.subsection 0", "{r13},~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %0), !dbg !12
  %2 = tail call swiftcc zeroext i1 @even_i64_loop_4(ptr swiftself %0, i32 0, i64 %1) #3, !dbg !13
  ret i1 %2
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_1(ptr %0, ptr swiftself %1) #1 !dbg !14 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i64, ptr %word, align 8
  %2 = call swiftcc zeroext i1 @even_i64_1(ptr swiftself %1, i64 %arg), !dbg !15
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %3 = zext i1 %2 to i64
  store i64 %3, ptr %word1, align 8
  ret void
}

; Function Attrs: nounwind uwtable(sync)
define internal swiftcc zeroext i1 @odd_i64_2(ptr swiftself %0, i64 %1) #1 !dbg !16 {
entry:
  call void asm sideeffect "cmpq %rsp, (%r13)\0A\09ja 2f\0A1:\0A\09.subsection 1\0A2:\09addq $$-128, %rsp\0A\09pushq %rax\0A\09leaq 1b(%rip), %rax\0A\09callq hia_poll@PLT\0A\09popq %rax\0A\09subq $$-128, %rsp\0A\09jmp 1b\0A\09.subsection 0", "{r13},~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %0), !dbg !17
  %2 = tail call swiftcc zeroext i1 @even_i64_loop_4(ptr swiftself %0, i32 1, i64 %1) #3, !dbg !18
  ret i1 %2
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_2(ptr %0, ptr swiftself %1) #1 !dbg !19 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i64, ptr %word, align 8
  %2 = call swiftcc zeroext i1 @odd_i64_2(ptr swiftself %1, i64 %arg), !dbg !20
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %3 = zext i1 %2 to i64
  store i64 %3, ptr %word1, align 8
  ret void
}

; Function Attrs: noinline nounwind uwtable(sync)
define internal swiftcc i64 @main_i64_i64_3(ptr swiftself %0, i64 %1, i64 %2) #0 !dbg !21 {
entry:
  call void asm sideeffect "cmpq %rsp, (%r13)\0A\09ja 2f\0A1:\0A\09.subsection 1\0A2:\09addq $$-128, %rsp\0A\09pushq %rax\0A\09leaq 1b(%rip), %rax\0A\09callq hia_poll@PLT\0A\09popq %rax\0A\09subq $$-128, %rsp\0A\09jmp 1b\0A\09.subsection 0", "{r13},~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %0), !dbg !22
  %3 = call swiftcc zeroext i1 @even_i64_loop_4(ptr swiftself %0, i32 0, i64 %1) #3, !dbg !23
  br i1 %3, label %then, label %join

join:                                             ; preds = %then, %entry
  %merge = phi i64 [ %4, %then ], [ 0, %entry ]
  ret i64 %merge

then:                                             ; preds = %entry
  %4 = call swiftcc i64 @gcd_i64_i64_0(ptr swiftself %0, i64 %1, i64 %2) #3, !dbg !24
  br label %join
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_3(ptr %0, ptr swiftself %1) #1 !dbg !25 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i64, ptr %word, align 8
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %arg2 = load i64, ptr %word1, align 8
  %2 = call swiftcc i64 @main_i64_i64_3(ptr swiftself %1, i64 %arg, i64 %arg2), !dbg !26
  %word3 = getelementptr inbounds i64, ptr %0, i64 2
  store i64 %2, ptr %word3, align 8
  ret void
}

; Function Attrs: nounwind uwtable(sync)
define internal swiftcc zeroext i1 @even_i64_loop_4(ptr swiftself %0, i32 %1, i64 %2) #1 !dbg !27 {
entry:
  call void asm sideeffect "", "r,~{dirflag},~{fpsr},~{flags}"(ptr %0)
  br label %head

head:                                             ; preds = %round4, %entry
  %round1 = phi i64 [ %2, %entry ], [ %merge3, %round4 ]
  %round = phi i32 [ %1, %entry ], [ %merge2, %round4 ]
  %3 = icmp slt i32 %round, 1
  br i1 %3, label %then, label %else

join:                                             ; preds = %else, %then
  %merge3 = phi i64 [ %5, %then ], [ %7, %else ]
  %merge2 = phi i32 [ 1, %then ], [ 0, %else ]
  %merge = phi i1 [ %4, %then ], [ %6, %else ]
  br i1 %merge, label %round4, label %exit, !dbg !28

then:                                             ; preds = %head
  %4 = icmp ne i64 %round1, 0
  %5 = sub i64 %round1, 1
  br label %join

else:                                             ; preds = %head
  %6 = icmp ne i64 %round1, 0
  %7 = sub i64 %round1, 1
  br label %join

round4:                                           ; preds = %join
  br label %head, !dbg !28

exit:                                             ; preds = %join
  ret i1 %3
}

; Function Attrs: cold noreturn nounwind
declare void @hiaR_stub_fail(ptr swiftself, i32, i32, i64) #2

attributes #0 = { noinline nounwind uwtable(sync) "disable-tail-calls"="true" "no-realign-stack" }
attributes #1 = { nounwind uwtable(sync) "no-realign-stack" }
attributes #2 = { cold noreturn nounwind }
attributes #3 = { nomerge }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "hiaton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly, splitDebugInlining: false)
!1 = !DIFile(filename: "tails.hia", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 4}
!4 = distinct !DISubprogram(name: "gcd(i64, i64)", scope: !1, file: !1, line: 1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 1, scope: !4)
!8 = !{!"branch_weights", i32 1, i32 1048576}
!9 = distinct !DISubprogram(name: "hia_entry_0", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!10 = !DILocation(line: 0, scope: !9)
!11 = distinct !DISubprogram(name: "even(i64)", scope: !1, file: !1, line: 3, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!12 = !DILocation(line: 3, scope: !11)
!13 = !DILocation(line: 4, scope: !11)
!14 = distinct !DISubprogram(name: "hia_entry_1", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!15 = !DILocation(line: 0, scope: !14)
!16 = distinct !DISubprogram(name: "odd(i64)", scope: !1, file: !1, line: 5, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!17 = !DILocation(line: 5, scope: !16)
!18 = !DILocation(line: 6, scope: !16)
!19 = distinct !DISubprogram(name: "hia_entry_2", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!20 = !DILocation(line: 0, scope: !19)
!21 = distinct !DISubprogram(name: "main(i64, i64)", scope: !1, file: !1, line: 7, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!22 = !DILocation(line: 7, scope: !21)
!23 = !DILocation(line: 47, scope: !21)
!24 = !DILocation(line: 52, scope: !21)
!25 = distinct !DISubprogram(name: "hia_entry_3", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!26 = !DILocation(line: 0, scope: !25)
!27 = distinct !DISubprogram(name: "even(i64).loop", scope: !1, file: !1, line: 3, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!28 = !DILocation(line: 3, scope: !27)
