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
define internal swiftcc i32 @part_i32_i32_0(ptr swiftself %0, i32 %1, i32 %2) #0 !dbg !4 {
entry:
  %3 = add i32 %2, 1
  %is_special = icmp ule i32 %3, 1
  br i1 %is_special, label %special, label %divide, !prof !7

special:                                          ; preds = %entry
  %is_zero = icmp eq i32 %2, 0
  %is_least = icmp eq i32 %1, -2147483648
  %fails = or i1 %is_zero, %is_least
  br i1 %fails, label %failing, label %negate, !prof !7

divide:                                           ; preds = %entry
  %4 = sdiv i32 %1, %2
  br label %divided

failing:                                          ; preds = %special
  %status = select i1 %is_zero, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 3, i32 %status, i64 0)
  unreachable

negate:                                           ; preds = %special
  %5 = sub i32 0, %1
  br label %divided

divided:                                          ; preds = %divide, %negate
  %quotient = phi i32 [ %5, %negate ], [ %4, %divide ]
  ret i32 %quotient
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_0(ptr %0, ptr swiftself %1) #1 !dbg !8 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i32, ptr %word, align 4
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %arg2 = load i32, ptr %word1, align 4
  %2 = call swiftcc i32 @part_i32_i32_0(ptr swiftself %1, i32 %arg, i32 %arg2), !dbg !9
  %word3 = getelementptr inbounds i64, ptr %0, i64 2
  %3 = sext i32 %2 to i64
  store i64 %3, ptr %word3, align 8
  ret void
}

; Function Attrs: noinline nounwind uwtable(sync)
define internal swiftcc i32 @sum_i32_i32_1(ptr swiftself %0, i32 %1, i32 %2) #0 !dbg !10 {
entry:
  %3 = icmp eq i32 %1, 0
  br i1 %3, label %join, label %else

join:                                             ; preds = %join1, %entry
  %merge115 = phi i32 [ 0, %entry ], [ %9, %join1 ]
  ret i32 %merge115

else:                                             ; preds = %entry
  %4 = add i32 %2, 1
  %is_special = icmp ule i32 %4, 1
  br i1 %is_special, label %special, label %divide, !prof !7

special:                                          ; preds = %else
  %is_zero = icmp eq i32 %2, 0
  %is_least = icmp eq i32 %1, -2147483648
  %fails = or i1 %is_zero, %is_least
  br i1 %fails, label %failing, label %negate, !prof !7

divide:                                           ; preds = %else
  %5 = sdiv i32 %1, %2
  br label %divided

failing:                                          ; preds = %special
  %status = select i1 %is_zero, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 20, i32 %status, i64 0)
  unreachable

negate:                                           ; preds = %special
  %6 = sub i32 0, %1
  br label %divided

divided:                                          ; preds = %divide, %negate
  %quotient = phi i32 [ %6, %negate ], [ %5, %divide ]
  %7 = sub i32 %1, 1
  %8 = icmp eq i32 %7, 0
  br i1 %8, label %join1, label %else2

join1:                                            ; preds = %join14, %divided
  %merge114 = phi i32 [ 0, %divided ], [ %15, %join14 ]
  %9 = add i32 %quotient, %merge114
  br label %join

else2:                                            ; preds = %divided
  %10 = add i32 %2, 1
  %is_special8 = icmp ule i32 %10, 1
  br i1 %is_special8, label %special3, label %divide4, !prof !7

special3:                                         ; preds = %else2
  %is_zero9 = icmp eq i32 %2, 0
  %is_least10 = icmp eq i32 %7, -2147483648
  %fails11 = or i1 %is_zero9, %is_least10
  br i1 %fails11, label %failing5, label %negate6, !prof !7

divide4:                                          ; preds = %else2
  %11 = sdiv i32 %7, %2
  br label %divided7

failing5:                                         ; preds = %special3
  %status12 = select i1 %is_zero9, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 25, i32 %status12, i64 0)
  unreachable

negate6:                                          ; preds = %special3
  %12 = sub i32 0, %7
  br label %divided7

divided7:                                         ; preds = %divide4, %negate6
  %quotient13 = phi i32 [ %12, %negate6 ], [ %11, %divide4 ]
  %13 = sub i32 %1, 2
  %14 = icmp eq i32 %13, 0
  br i1 %14, label %join14, label %else15

join14:                                           ; preds = %join27, %divided7
  %merge113 = phi i32 [ 0, %divided7 ], [ %21, %join27 ]
  %15 = add i32 %quotient13, %merge113
  br label %join1

else15:                                           ; preds = %divided7
  %16 = add i32 %2, 1
  %is_special21 = icmp ule i32 %16, 1
  br i1 %is_special21, label %special16, label %divide17, !prof !7

special16:                                        ; preds = %else15
  %is_zero22 = icmp eq i32 %2, 0
  %is_least23 = icmp eq i32 %13, -2147483648
  %fails24 = or i1 %is_zero22, %is_least23
  br i1 %fails24, label %failing18, label %negate19, !prof !7

divide17:                                         ; preds = %else15
  %17 = sdiv i32 %13, %2
  br label %divided20

failing18:                                        ; preds = %special16
  %status25 = select i1 %is_zero22, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 34, i32 %status25, i64 0)
  unreachable

negate19:                                         ; preds = %special16
  %18 = sub i32 0, %13
  br label %divided20

divided20:                                        ; preds = %divide17, %negate19
  %quotient26 = phi i32 [ %18, %negate19 ], [ %17, %divide17 ]
  %19 = sub i32 %1, 3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %join27, label %else28

join27:                                           ; preds = %join40, %divided20
  %merge112 = phi i32 [ 0, %divided20 ], [ %27, %join40 ]
  %21 = add i32 %quotient26, %merge112
  br label %join14

else28:                                           ; preds = %divided20
  %22 = add i32 %2, 1
  %is_special34 = icmp ule i32 %22, 1
  br i1 %is_special34, label %special29, label %divide30, !prof !7

special29:                                        ; preds = %else28
  %is_zero35 = icmp eq i32 %2, 0
  %is_least36 = icmp eq i32 %19, -2147483648
  %fails37 = or i1 %is_zero35, %is_least36
  br i1 %fails37, label %failing31, label %negate32, !prof !7

divide30:                                         ; preds = %else28
  %23 = sdiv i32 %19, %2
  br label %divided33

failing31:                                        ; preds = %special29
  %status38 = select i1 %is_zero35, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 43, i32 %status38, i64 0)
  unreachable

negate32:                                         ; preds = %special29
  %24 = sub i32 0, %19
  br label %divided33

divided33:                                        ; preds = %divide30, %negate32
  %quotient39 = phi i32 [ %24, %negate32 ], [ %23, %divide30 ]
  %25 = sub i32 %1, 4
  %26 = icmp eq i32 %25, 0
  br i1 %26, label %join40, label %else41

join40:                                           ; preds = %join53, %divided33
  %merge111 = phi i32 [ 0, %divided33 ], [ %33, %join53 ]
  %27 = add i32 %quotient39, %merge111
  br label %join27

else41:                                           ; preds = %divided33
  %28 = add i32 %2, 1
  %is_special47 = icmp ule i32 %28, 1
  br i1 %is_special47, label %special42, label %divide43, !prof !7

special42:                                        ; preds = %else41
  %is_zero48 = icmp eq i32 %2, 0
  %is_least49 = icmp eq i32 %25, -2147483648
  %fails50 = or i1 %is_zero48, %is_least49
  br i1 %fails50, label %failing44, label %negate45, !prof !7

divide43:                                         ; preds = %else41
  %29 = sdiv i32 %25, %2
  br label %divided46

failing44:                                        ; preds = %special42
  %status51 = select i1 %is_zero48, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 52, i32 %status51, i64 0)
  unreachable

negate45:                                         ; preds = %special42
  %30 = sub i32 0, %25
  br label %divided46

divided46:                                        ; preds = %divide43, %negate45
  %quotient52 = phi i32 [ %30, %negate45 ], [ %29, %divide43 ]
  %31 = sub i32 %1, 5
  %32 = icmp eq i32 %31, 0
  br i1 %32, label %join53, label %else54

join53:                                           ; preds = %join66, %divided46
  %merge110 = phi i32 [ 0, %divided46 ], [ %39, %join66 ]
  %33 = add i32 %quotient52, %merge110
  br label %join40

else54:                                           ; preds = %divided46
  %34 = add i32 %2, 1
  %is_special60 = icmp ule i32 %34, 1
  br i1 %is_special60, label %special55, label %divide56, !prof !7

special55:                                        ; preds = %else54
  %is_zero61 = icmp eq i32 %2, 0
  %is_least62 = icmp eq i32 %31, -2147483648
  %fails63 = or i1 %is_zero61, %is_least62
  br i1 %fails63, label %failing57, label %negate58, !prof !7

divide56:                                         ; preds = %else54
  %35 = sdiv i32 %31, %2
  br label %divided59

failing57:                                        ; preds = %special55
  %status64 = select i1 %is_zero61, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 61, i32 %status64, i64 0)
  unreachable

negate58:                                         ; preds = %special55
  %36 = sub i32 0, %31
  br label %divided59

divided59:                                        ; preds = %divide56, %negate58
  %quotient65 = phi i32 [ %36, %negate58 ], [ %35, %divide56 ]
  %37 = sub i32 %1, 6
  %38 = icmp eq i32 %37, 0
  br i1 %38, label %join66, label %else67

join66:                                           ; preds = %join79, %divided59
  %merge109 = phi i32 [ 0, %divided59 ], [ %45, %join79 ]
  %39 = add i32 %quotient65, %merge109
  br label %join53

else67:                                           ; preds = %divided59
  %40 = add i32 %2, 1
  %is_special73 = icmp ule i32 %40, 1
  br i1 %is_special73, label %special68, label %divide69, !prof !7

special68:                                        ; preds = %else67
  %is_zero74 = icmp eq i32 %2, 0
  %is_least75 = icmp eq i32 %37, -2147483648
  %fails76 = or i1 %is_zero74, %is_least75
  br i1 %fails76, label %failing70, label %negate71, !prof !7

divide69:                                         ; preds = %else67
  %41 = sdiv i32 %37, %2
  br label %divided72

failing70:                                        ; preds = %special68
  %status77 = select i1 %is_zero74, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 70, i32 %status77, i64 0)
  unreachable

negate71:                                         ; preds = %special68
  %42 = sub i32 0, %37
  br label %divided72

divided72:                                        ; preds = %divide69, %negate71
  %quotient78 = phi i32 [ %42, %negate71 ], [ %41, %divide69 ]
  %43 = sub i32 %1, 7
  %44 = icmp eq i32 %43, 0
  br i1 %44, label %join79, label %else80

join79:                                           ; preds = %join92, %divided72
  %merge108 = phi i32 [ 0, %divided72 ], [ %51, %join92 ]
  %45 = add i32 %quotient78, %merge108
  br label %join66

else80:                                           ; preds = %divided72
  %46 = add i32 %2, 1
  %is_special86 = icmp ule i32 %46, 1
  br i1 %is_special86, label %special81, label %divide82, !prof !7

special81:                                        ; preds = %else80
  %is_zero87 = icmp eq i32 %2, 0
  %is_least88 = icmp eq i32 %43, -2147483648
  %fails89 = or i1 %is_zero87, %is_least88
  br i1 %fails89, label %failing83, label %negate84, !prof !7

divide82:                                         ; preds = %else80
  %47 = sdiv i32 %43, %2
  br label %divided85

failing83:                                        ; preds = %special81
  %status90 = select i1 %is_zero87, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 79, i32 %status90, i64 0)
  unreachable

negate84:                                         ; preds = %special81
  %48 = sub i32 0, %43
  br label %divided85

divided85:                                        ; preds = %divide82, %negate84
  %quotient91 = phi i32 [ %48, %negate84 ], [ %47, %divide82 ]
  %49 = sub i32 %1, 8
  %50 = icmp eq i32 %49, 0
  br i1 %50, label %join92, label %else93

join92:                                           ; preds = %join105, %divided85
  %merge107 = phi i32 [ 0, %divided85 ], [ %57, %join105 ]
  %51 = add i32 %quotient91, %merge107
  br label %join79

else93:                                           ; preds = %divided85
  %52 = add i32 %2, 1
  %is_special99 = icmp ule i32 %52, 1
  br i1 %is_special99, label %special94, label %divide95, !prof !7

special94:                                        ; preds = %else93
  %is_zero100 = icmp eq i32 %2, 0
  %is_least101 = icmp eq i32 %49, -2147483648
  %fails102 = or i1 %is_zero100, %is_least101
  br i1 %fails102, label %failing96, label %negate97, !prof !7

divide95:                                         ; preds = %else93
  %53 = sdiv i32 %49, %2
  br label %divided98

failing96:                                        ; preds = %special94
  %status103 = select i1 %is_zero100, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 88, i32 %status103, i64 0)
  unreachable

negate97:                                         ; preds = %special94
  %54 = sub i32 0, %49
  br label %divided98

divided98:                                        ; preds = %divide95, %negate97
  %quotient104 = phi i32 [ %54, %negate97 ], [ %53, %divide95 ]
  %55 = sub i32 %1, 9
  %56 = icmp eq i32 %55, 0
  br i1 %56, label %join105, label %else106

join105:                                          ; preds = %else106, %divided98
  %merge = phi i32 [ 0, %divided98 ], [ %58, %else106 ]
  %57 = add i32 %quotient104, %merge
  br label %join92

else106:                                          ; preds = %divided98
  call void asm sideeffect "cmpq %rsp, (%r13)\0A\09ja 2f\0A1:\0A\09.subsection 1\0A2:\09addq $$-128, %rsp\0A\09pushq %rax\0A\09leaq 1b(%rip), %rax\0A\09callq hia_poll@PLT\0A\09popq %rax\0A\09subq $$-128, %rsp\0A\09jmp 1b\0A\09.subsection 0", "{r13},~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %0), !dbg !11
  %58 = call swiftcc i32 @sum_i32_i32_1(ptr swiftself %0, i32 %55, i32 %2) #3, !dbg !12
  br label %join105
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_1(ptr %0, ptr swiftself %1) #1 !dbg !13 {
entry:
  %word = getelementptr inbounds i64, ptr %0, i64 0
  %arg = load i32, ptr %word, align 4
  %word1 = getelementptr inbounds i64, ptr %0, i64 1
  %arg2 = load i32, ptr %word1, align 4
  %2 = call swiftcc i32 @sum_i32_i32_1(ptr swiftself %1, i32 %arg, i32 %arg2), !dbg !14
  %word3 = getelementptr inbounds i64, ptr %0, i64 2
  %3 = sext i32 %2 to i64
  store i64 %3, ptr %word3, align 8
  ret void
}

; Function Attrs: noinline nounwind uwtable(sync)
define internal swiftcc i32 @main_i32_i32_2(ptr swiftself %0, i32 %1, i32 %2) #0 !dbg !15 {
entry:
  %3 = add i32 %2, 1
  %is_special = icmp ule i32 %3, 1
  br i1 %is_special, label %special, label %divide, !prof !7

special:                                          ; preds = %entry
  %is_zero = icmp eq i32 %2, 0
  %fails = or i1 %is_zero, false
  br i1 %fails, label %failing, label %negate, !prof !7

divide:                                           ; preds = %entry
  %4 = srem i32 7, %2
  br label %divided

failing:                                          ; preds = %special
  %status = select i1 %is_zero, i32 16, i32 17
  call void @hiaR_stub_fail(ptr swiftself %0, i32 14, i32 %status, i64 0)
  unreachable

negate:                                           ; preds = %special
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
  call void asm sideeffect "cmpq %rsp, (%r13)\0A\09ja 2f\0A1:\0A\09.subsection 1\0A2:\09addq $$-128, %rsp\0A\09pushq %rax\0A\09leaq 1b(%rip), %rax\0A\09callq hia_poll@PLT\0A\09popq %rax\0A\09subq $$-128, %rsp\0A\09jmp 1b\0A\09.subsection 0", "{r13},~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %0), !dbg !16
  %6 = call swiftcc i32 @sum_i32_i32_1(ptr swiftself %0, i32 %1, i32 %2) #3, !dbg !17
  br label %join

dead:                                             ; No predecessors!
  br label %join
}

; Function Attrs: nounwind uwtable(sync)
define protected swiftcc void @hia_entry_2(ptr %0, ptr swiftself %1) #1 !dbg !18 {
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

; Function Attrs: cold noreturn nounwind
declare void @hiaR_stub_fail(ptr swiftself, i32, i32, i64) #2

attributes #0 = { noinline nounwind uwtable(sync) "disable-tail-calls"="true" "no-realign-stack" }
attributes #1 = { nounwind uwtable(sync) "no-realign-stack" }
attributes #2 = { cold noreturn nounwind }
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
!8 = distinct !DISubprogram(name: "hia_entry_0", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!9 = !DILocation(line: 0, scope: !8)
!10 = distinct !DISubprogram(name: "sum(i32, i32)", scope: !1, file: !1, line: 3, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!11 = !DILocation(line: 3, scope: !10)
!12 = !DILocation(line: 183, scope: !10)
!13 = distinct !DISubprogram(name: "hia_entry_1", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!14 = !DILocation(line: 0, scope: !13)
!15 = distinct !DISubprogram(name: "main(i32, i32)", scope: !1, file: !1, line: 5, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!16 = !DILocation(line: 5, scope: !15)
!17 = !DILocation(line: 40, scope: !15)
!18 = distinct !DISubprogram(name: "hia_entry_2", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!19 = !DILocation(line: 0, scope: !18)
