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
  %merge227 = phi i32 [ 0, %entry ], [ %9, %join1 ]
  ret i32 %merge227

else:                                             ; preds = %entry
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
  %8 = icmp eq i32 %7, 0
  br i1 %8, label %join1, label %else2

join1:                                            ; preds = %join14, %divided
  %merge226 = phi i32 [ 0, %divided ], [ %15, %join14 ]
  %9 = add i32 %quotient, %merge226
  br label %join

else2:                                            ; preds = %divided
  %10 = add i32 %2, 1
  %is_special10 = icmp ule i32 %10, 1
  br i1 %is_special10, label %special3, label %divide4, !prof !7

special3:                                         ; preds = %else2
  %is_zero11 = icmp eq i32 %2, 0
  br i1 %is_zero11, label %by_zero6, label %minus_one5

divide4:                                          ; preds = %else2
  %11 = sdiv i32 %7, %2
  br label %divided9

minus_one5:                                       ; preds = %special3
  %is_least12 = icmp eq i32 %7, -2147483648
  br i1 %is_least12, label %overflow7, label %negate8, !prof !7

by_zero6:                                         ; preds = %special3
  call void @hiaR_stub_fail(ptr swiftself %0, i32 25, i32 16, i64 0)
  unreachable

overflow7:                                        ; preds = %minus_one5
  call void @hiaR_stub_fail(ptr swiftself %0, i32 25, i32 17, i64 0)
  unreachable

negate8:                                          ; preds = %minus_one5
  %12 = sub i32 0, %7
  br label %divided9

divided9:                                         ; preds = %divide4, %negate8
  %quotient13 = phi i32 [ %12, %negate8 ], [ %11, %divide4 ]
  %13 = sub i32 %1, 2
  %14 = icmp eq i32 %13, 0
  br i1 %14, label %join14, label %else15

join14:                                           ; preds = %join27, %divided9
  %merge225 = phi i32 [ 0, %divided9 ], [ %21, %join27 ]
  %15 = add i32 %quotient13, %merge225
  br label %join1

else15:                                           ; preds = %divided9
  %16 = add i32 %2, 1
  %is_special23 = icmp ule i32 %16, 1
  br i1 %is_special23, label %special16, label %divide17, !prof !7

special16:                                        ; preds = %else15
  %is_zero24 = icmp eq i32 %2, 0
  br i1 %is_zero24, label %by_zero19, label %minus_one18

divide17:                                         ; preds = %else15
  %17 = sdiv i32 %13, %2
  br label %divided22

minus_one18:                                      ; preds = %special16
  %is_least25 = icmp eq i32 %13, -2147483648
  br i1 %is_least25, label %overflow20, label %negate21, !prof !7

by_zero19:                                        ; preds = %special16
  call void @hiaR_stub_fail(ptr swiftself %0, i32 34, i32 16, i64 0)
  unreachable

overflow20:                                       ; preds = %minus_one18
  call void @hiaR_stub_fail(ptr swiftself %0, i32 34, i32 17, i64 0)
  unreachable

negate21:                                         ; preds = %minus_one18
  %18 = sub i32 0, %13
  br label %divided22

divided22:                                        ; preds = %divide17, %negate21
  %quotient26 = phi i32 [ %18, %negate21 ], [ %17, %divide17 ]
  %19 = sub i32 %1, 3
  %20 = icmp eq i32 %19, 0
  br i1 %20, label %join27, label %else28

join27:                                           ; preds = %join40, %divided22
  %merge224 = phi i32 [ 0, %divided22 ], [ %27, %join40 ]
  %21 = add i32 %quotient26, %merge224
  br label %join14

else28:                                           ; preds = %divided22
  %22 = add i32 %2, 1
  %is_special36 = icmp ule i32 %22, 1
  br i1 %is_special36, label %special29, label %divide30, !prof !7

special29:                                        ; preds = %else28
  %is_zero37 = icmp eq i32 %2, 0
  br i1 %is_zero37, label %by_zero32, label %minus_one31

divide30:                                         ; preds = %else28
  %23 = sdiv i32 %19, %2
  br label %divided35

minus_one31:                                      ; preds = %special29
  %is_least38 = icmp eq i32 %19, -2147483648
  br i1 %is_least38, label %overflow33, label %negate34, !prof !7

by_zero32:                                        ; preds = %special29
  call void @hiaR_stub_fail(ptr swiftself %0, i32 43, i32 16, i64 0)
  unreachable

overflow33:                                       ; preds = %minus_one31
  call void @hiaR_stub_fail(ptr swiftself %0, i32 43, i32 17, i64 0)
  unreachable

negate34:                                         ; preds = %minus_one31
  %24 = sub i32 0, %19
  br label %divided35

divided35:                                        ; preds = %divide30, %negate34
  %quotient39 = phi i32 [ %24, %negate34 ], [ %23, %divide30 ]
  %25 = sub i32 %1, 4
  %26 = icmp eq i32 %25, 0
  br i1 %26, label %join40, label %else41

join40:                                           ; preds = %join53, %divided35
  %merge223 = phi i32 [ 0, %divided35 ], [ %33, %join53 ]
  %27 = add i32 %quotient39, %merge223
  br label %join27

else41:                                           ; preds = %divided35
  %28 = add i32 %2, 1
  %is_special49 = icmp ule i32 %28, 1
  br i1 %is_special49, label %special42, label %divide43, !prof !7

special42:                                        ; preds = %else41
  %is_zero50 = icmp eq i32 %2, 0
  br i1 %is_zero50, label %by_zero45, label %minus_one44

divide43:                                         ; preds = %else41
  %29 = sdiv i32 %25, %2
  br label %divided48

minus_one44:                                      ; preds = %special42
  %is_least51 = icmp eq i32 %25, -2147483648
  br i1 %is_least51, label %overflow46, label %negate47, !prof !7

by_zero45:                                        ; preds = %special42
  call void @hiaR_stub_fail(ptr swiftself %0, i32 52, i32 16, i64 0)
  unreachable

overflow46:                                       ; preds = %minus_one44
  call void @hiaR_stub_fail(ptr swiftself %0, i32 52, i32 17, i64 0)
  unreachable

negate47:                                         ; preds = %minus_one44
  %30 = sub i32 0, %25
  br label %divided48

divided48:                                        ; preds = %divide43, %negate47
  %quotient52 = phi i32 [ %30, %negate47 ], [ %29, %divide43 ]
  %31 = sub i32 %1, 5
  %32 = icmp eq i32 %31, 0
  br i1 %32, label %join53, label %else54

join53:                                           ; preds = %join66, %divided48
  %merge222 = phi i32 [ 0, %divided48 ], [ %39, %join66 ]
  %33 = add i32 %quotient52, %merge222
  br label %join40

else54:                                           ; preds = %divided48
  %34 = add i32 %2, 1
  %is_special62 = icmp ule i32 %34, 1
  br i1 %is_special62, label %special55, label %divide56, !prof !7

special55:                                        ; preds = %else54
  %is_zero63 = icmp eq i32 %2, 0
  br i1 %is_zero63, label %by_zero58, label %minus_one57

divide56:                                         ; preds = %else54
  %35 = sdiv i32 %31, %2
  br label %divided61

minus_one57:                                      ; preds = %special55
  %is_least64 = icmp eq i32 %31, -2147483648
  br i1 %is_least64, label %overflow59, label %negate60, !prof !7

by_zero58:                                        ; preds = %special55
  call void @hiaR_stub_fail(ptr swiftself %0, i32 61, i32 16, i64 0)
  unreachable

overflow59:                                       ; preds = %minus_one57
  call void @hiaR_stub_fail(ptr swiftself %0, i32 61, i32 17, i64 0)
  unreachable

negate60:                                         ; preds = %minus_one57
  %36 = sub i32 0, %31
  br label %divided61

divided61:                                        ; preds = %divide56, %negate60
  %quotient65 = phi i32 [ %36, %negate60 ], [ %35, %divide56 ]
  %37 = sub i32 %1, 6
  %38 = icmp eq i32 %37, 0
  br i1 %38, label %join66, label %else67

join66:                                           ; preds = %join79, %divided61
  %merge221 = phi i32 [ 0, %divided61 ], [ %45, %join79 ]
  %39 = add i32 %quotient65, %merge221
  br label %join53

else67:                                           ; preds = %divided61
  %40 = add i32 %2, 1
  %is_special75 = icmp ule i32 %40, 1
  br i1 %is_special75, label %special68, label %divide69, !prof !7

special68:                                        ; preds = %else67
  %is_zero76 = icmp eq i32 %2, 0
  br i1 %is_zero76, label %by_zero71, label %minus_one70

divide69:                                         ; preds = %else67
  %41 = sdiv i32 %37, %2
  br label %divided74

minus_one70:                                      ; preds = %special68
  %is_least77 = icmp eq i32 %37, -2147483648
  br i1 %is_least77, label %overflow72, label %negate73, !prof !7

by_zero71:                                        ; preds = %special68
  call void @hiaR_stub_fail(ptr swiftself %0, i32 70, i32 16, i64 0)
  unreachable

overflow72:                                       ; preds = %minus_one70
  call void @hiaR_stub_fail(ptr swiftself %0, i32 70, i32 17, i64 0)
  unreachable

negate73:                                         ; preds = %minus_one70
  %42 = sub i32 0, %37
  br label %divided74

divided74:                                        ; preds = %divide69, %negate73
  %quotient78 = phi i32 [ %42, %negate73 ], [ %41, %divide69 ]
  %43 = sub i32 %1, 7
  %44 = icmp eq i32 %43, 0
  br i1 %44, label %join79, label %else80

join79:                                           ; preds = %join92, %divided74
  %merge220 = phi i32 [ 0, %divided74 ], [ %51, %join92 ]
  %45 = add i32 %quotient78, %merge220
  br label %join66

else80:                                           ; preds = %divided74
  %46 = add i32 %2, 1
  %is_special88 = icmp ule i32 %46, 1
  br i1 %is_special88, label %special81, label %divide82, !prof !7

special81:                                        ; preds = %else80
  %is_zero89 = icmp eq i32 %2, 0
  br i1 %is_zero89, label %by_zero84, label %minus_one83

divide82:                                         ; preds = %else80
  %47 = sdiv i32 %43, %2
  br label %divided87

minus_one83:                                      ; preds = %special81
  %is_least90 = icmp eq i32 %43, -2147483648
  br i1 %is_least90, label %overflow85, label %negate86, !prof !7

by_zero84:                                        ; preds = %special81
  call void @hiaR_stub_fail(ptr swiftself %0, i32 79, i32 16, i64 0)
  unreachable

overflow85:                                       ; preds = %minus_one83
  call void @hiaR_stub_fail(ptr swiftself %0, i32 79, i32 17, i64 0)
  unreachable

negate86:                                         ; preds = %minus_one83
  %48 = sub i32 0, %43
  br label %divided87

divided87:                                        ; preds = %divide82, %negate86
  %quotient91 = phi i32 [ %48, %negate86 ], [ %47, %divide82 ]
  %49 = sub i32 %1, 8
  %50 = icmp eq i32 %49, 0
  br i1 %50, label %join92, label %else93

join92:                                           ; preds = %join105, %divided87
  %merge219 = phi i32 [ 0, %divided87 ], [ %57, %join105 ]
  %51 = add i32 %quotient91, %merge219
  br label %join79

else93:                                           ; preds = %divided87
  %52 = add i32 %2, 1
  %is_special101 = icmp ule i32 %52, 1
  br i1 %is_special101, label %special94, label %divide95, !prof !7

special94:                                        ; preds = %else93
  %is_zero102 = icmp eq i32 %2, 0
  br i1 %is_zero102, label %by_zero97, label %minus_one96

divide95:                                         ; preds = %else93
  %53 = sdiv i32 %49, %2
  br label %divided100

minus_one96:                                      ; preds = %special94
  %is_least103 = icmp eq i32 %49, -2147483648
  br i1 %is_least103, label %overflow98, label %negate99, !prof !7

by_zero97:                                        ; preds = %special94
  call void @hiaR_stub_fail(ptr swiftself %0, i32 88, i32 16, i64 0)
  unreachable

overflow98:                                       ; preds = %minus_one96
  call void @hiaR_stub_fail(ptr swiftself %0, i32 88, i32 17, i64 0)
  unreachable

negate99:                                         ; preds = %minus_one96
  %54 = sub i32 0, %49
  br label %divided100

divided100:                                       ; preds = %divide95, %negate99
  %quotient104 = phi i32 [ %54, %negate99 ], [ %53, %divide95 ]
  %55 = sub i32 %1, 9
  %56 = icmp eq i32 %55, 0
  br i1 %56, label %join105, label %else106

join105:                                          ; preds = %join118, %divided100
  %merge218 = phi i32 [ 0, %divided100 ], [ %63, %join118 ]
  %57 = add i32 %quotient104, %merge218
  br label %join92

else106:                                          ; preds = %divided100
  %58 = add i32 %2, 1
  %is_special114 = icmp ule i32 %58, 1
  br i1 %is_special114, label %special107, label %divide108, !prof !7

special107:                                       ; preds = %else106
  %is_zero115 = icmp eq i32 %2, 0
  br i1 %is_zero115, label %by_zero110, label %minus_one109

divide108:                                        ; preds = %else106
  %59 = sdiv i32 %55, %2
  br label %divided113

minus_one109:                                     ; preds = %special107
  %is_least116 = icmp eq i32 %55, -2147483648
  br i1 %is_least116, label %overflow111, label %negate112, !prof !7

by_zero110:                                       ; preds = %special107
  call void @hiaR_stub_fail(ptr swiftself %0, i32 97, i32 16, i64 0)
  unreachable

overflow111:                                      ; preds = %minus_one109
  call void @hiaR_stub_fail(ptr swiftself %0, i32 97, i32 17, i64 0)
  unreachable

negate112:                                        ; preds = %minus_one109
  %60 = sub i32 0, %55
  br label %divided113

divided113:                                       ; preds = %divide108, %negate112
  %quotient117 = phi i32 [ %60, %negate112 ], [ %59, %divide108 ]
  %61 = sub i32 %1, 10
  %62 = icmp eq i32 %61, 0
  br i1 %62, label %join118, label %else119

join118:                                          ; preds = %join131, %divided113
  %merge217 = phi i32 [ 0, %divided113 ], [ %69, %join131 ]
  %63 = add i32 %quotient117, %merge217
  br label %join105

else119:                                          ; preds = %divided113
  %64 = add i32 %2, 1
  %is_special127 = icmp ule i32 %64, 1
  br i1 %is_special127, label %special120, label %divide121, !prof !7

special120:                                       ; preds = %else119
  %is_zero128 = icmp eq i32 %2, 0
  br i1 %is_zero128, label %by_zero123, label %minus_one122

divide121:                                        ; preds = %else119
  %65 = sdiv i32 %61, %2
  br label %divided126

minus_one122:                                     ; preds = %special120
  %is_least129 = icmp eq i32 %61, -2147483648
  br i1 %is_least129, label %overflow124, label %negate125, !prof !7

by_zero123:                                       ; preds = %special120
  call void @hiaR_stub_fail(ptr swiftself %0, i32 106, i32 16, i64 0)
  unreachable

overflow124:                                      ; preds = %minus_one122
  call void @hiaR_stub_fail(ptr swiftself %0, i32 106, i32 17, i64 0)
  unreachable

negate125:                                        ; preds = %minus_one122
  %66 = sub i32 0, %61
  br label %divided126

divided126:                                       ; preds = %divide121, %negate125
  %quotient130 = phi i32 [ %66, %negate125 ], [ %65, %divide121 ]
  %67 = sub i32 %1, 11
  %68 = icmp eq i32 %67, 0
  br i1 %68, label %join131, label %else132

join131:                                          ; preds = %join144, %divided126
  %merge216 = phi i32 [ 0, %divided126 ], [ %75, %join144 ]
  %69 = add i32 %quotient130, %merge216
  br label %join118

else132:                                          ; preds = %divided126
  %70 = add i32 %2, 1
  %is_special140 = icmp ule i32 %70, 1
  br i1 %is_special140, label %special133, label %divide134, !prof !7

special133:                                       ; preds = %else132
  %is_zero141 = icmp eq i32 %2, 0
  br i1 %is_zero141, label %by_zero136, label %minus_one135

divide134:                                        ; preds = %else132
  %71 = sdiv i32 %67, %2
  br label %divided139

minus_one135:                                     ; preds = %special133
  %is_least142 = icmp eq i32 %67, -2147483648
  br i1 %is_least142, label %overflow137, label %negate138, !prof !7

by_zero136:                                       ; preds = %special133
  call void @hiaR_stub_fail(ptr swiftself %0, i32 115, i32 16, i64 0)
  unreachable

overflow137:                                      ; preds = %minus_one135
  call void @hiaR_stub_fail(ptr swiftself %0, i32 115, i32 17, i64 0)
  unreachable

negate138:                                        ; preds = %minus_one135
  %72 = sub i32 0, %67
  br label %divided139

divided139:                                       ; preds = %divide134, %negate138
  %quotient143 = phi i32 [ %72, %negate138 ], [ %71, %divide134 ]
  %73 = sub i32 %1, 12
  %74 = icmp eq i32 %73, 0
  br i1 %74, label %join144, label %else145

join144:                                          ; preds = %join157, %divided139
  %merge215 = phi i32 [ 0, %divided139 ], [ %81, %join157 ]
  %75 = add i32 %quotient143, %merge215
  br label %join131

else145:                                          ; preds = %divided139
  %76 = add i32 %2, 1
  %is_special153 = icmp ule i32 %76, 1
  br i1 %is_special153, label %special146, label %divide147, !prof !7

special146:                                       ; preds = %else145
  %is_zero154 = icmp eq i32 %2, 0
  br i1 %is_zero154, label %by_zero149, label %minus_one148

divide147:                                        ; preds = %else145
  %77 = sdiv i32 %73, %2
  br label %divided152

minus_one148:                                     ; preds = %special146
  %is_least155 = icmp eq i32 %73, -2147483648
  br i1 %is_least155, label %overflow150, label %negate151, !prof !7

by_zero149:                                       ; preds = %special146
  call void @hiaR_stub_fail(ptr swiftself %0, i32 124, i32 16, i64 0)
  unreachable

overflow150:                                      ; preds = %minus_one148
  call void @hiaR_stub_fail(ptr swiftself %0, i32 124, i32 17, i64 0)
  unreachable

negate151:                                        ; preds = %minus_one148
  %78 = sub i32 0, %73
  br label %divided152

divided152:                                       ; preds = %divide147, %negate151
  %quotient156 = phi i32 [ %78, %negate151 ], [ %77, %divide147 ]
  %79 = sub i32 %1, 13
  %80 = icmp eq i32 %79, 0
  br i1 %80, label %join157, label %else158

join157:                                          ; preds = %join170, %divided152
  %merge214 = phi i32 [ 0, %divided152 ], [ %87, %join170 ]
  %81 = add i32 %quotient156, %merge214
  br label %join144

else158:                                          ; preds = %divided152
  %82 = add i32 %2, 1
  %is_special166 = icmp ule i32 %82, 1
  br i1 %is_special166, label %special159, label %divide160, !prof !7

special159:                                       ; preds = %else158
  %is_zero167 = icmp eq i32 %2, 0
  br i1 %is_zero167, label %by_zero162, label %minus_one161

divide160:                                        ; preds = %else158
  %83 = sdiv i32 %79, %2
  br label %divided165

minus_one161:                                     ; preds = %special159
  %is_least168 = icmp eq i32 %79, -2147483648
  br i1 %is_least168, label %overflow163, label %negate164, !prof !7

by_zero162:                                       ; preds = %special159
  call void @hiaR_stub_fail(ptr swiftself %0, i32 133, i32 16, i64 0)
  unreachable

overflow163:                                      ; preds = %minus_one161
  call void @hiaR_stub_fail(ptr swiftself %0, i32 133, i32 17, i64 0)
  unreachable

negate164:                                        ; preds = %minus_one161
  %84 = sub i32 0, %79
  br label %divided165

divided165:                                       ; preds = %divide160, %negate164
  %quotient169 = phi i32 [ %84, %negate164 ], [ %83, %divide160 ]
  %85 = sub i32 %1, 14
  %86 = icmp eq i32 %85, 0
  br i1 %86, label %join170, label %else171

join170:                                          ; preds = %join183, %divided165
  %merge213 = phi i32 [ 0, %divided165 ], [ %93, %join183 ]
  %87 = add i32 %quotient169, %merge213
  br label %join157

else171:                                          ; preds = %divided165
  %88 = add i32 %2, 1
  %is_special179 = icmp ule i32 %88, 1
  br i1 %is_special179, label %special172, label %divide173, !prof !7

special172:                                       ; preds = %else171
  %is_zero180 = icmp eq i32 %2, 0
  br i1 %is_zero180, label %by_zero175, label %minus_one174

divide173:                                        ; preds = %else171
  %89 = sdiv i32 %85, %2
  br label %divided178

minus_one174:                                     ; preds = %special172
  %is_least181 = icmp eq i32 %85, -2147483648
  br i1 %is_least181, label %overflow176, label %negate177, !prof !7

by_zero175:                                       ; preds = %special172
  call void @hiaR_stub_fail(ptr swiftself %0, i32 142, i32 16, i64 0)
  unreachable

overflow176:                                      ; preds = %minus_one174
  call void @hiaR_stub_fail(ptr swiftself %0, i32 142, i32 17, i64 0)
  unreachable

negate177:                                        ; preds = %minus_one174
  %90 = sub i32 0, %85
  br label %divided178

divided178:                                       ; preds = %divide173, %negate177
  %quotient182 = phi i32 [ %90, %negate177 ], [ %89, %divide173 ]
  %91 = sub i32 %1, 15
  %92 = icmp eq i32 %91, 0
  br i1 %92, label %join183, label %else184

join183:                                          ; preds = %join196, %divided178
  %merge212 = phi i32 [ 0, %divided178 ], [ %99, %join196 ]
  %93 = add i32 %quotient182, %merge212
  br label %join170

else184:                                          ; preds = %divided178
  %94 = add i32 %2, 1
  %is_special192 = icmp ule i32 %94, 1
  br i1 %is_special192, label %special185, label %divide186, !prof !7

special185:                                       ; preds = %else184
  %is_zero193 = icmp eq i32 %2, 0
  br i1 %is_zero193, label %by_zero188, label %minus_one187

divide186:                                        ; preds = %else184
  %95 = sdiv i32 %91, %2
  br label %divided191

minus_one187:                                     ; preds = %special185
  %is_least194 = icmp eq i32 %91, -2147483648
  br i1 %is_least194, label %overflow189, label %negate190, !prof !7

by_zero188:                                       ; preds = %special185
  call void @hiaR_stub_fail(ptr swiftself %0, i32 151, i32 16, i64 0)
  unreachable

overflow189:                                      ; preds = %minus_one187
  call void @hiaR_stub_fail(ptr swiftself %0, i32 151, i32 17, i64 0)
  unreachable

negate190:                                        ; preds = %minus_one187
  %96 = sub i32 0, %91
  br label %divided191

divided191:                                       ; preds = %divide186, %negate190
  %quotient195 = phi i32 [ %96, %negate190 ], [ %95, %divide186 ]
  %97 = sub i32 %1, 16
  %98 = icmp eq i32 %97, 0
  br i1 %98, label %join196, label %else197

join196:                                          ; preds = %join209, %divided191
  %merge211 = phi i32 [ 0, %divided191 ], [ %105, %join209 ]
  %99 = add i32 %quotient195, %merge211
  br label %join183

else197:                                          ; preds = %divided191
  %100 = add i32 %2, 1
  %is_special205 = icmp ule i32 %100, 1
  br i1 %is_special205, label %special198, label %divide199, !prof !7

special198:                                       ; preds = %else197
  %is_zero206 = icmp eq i32 %2, 0
  br i1 %is_zero206, label %by_zero201, label %minus_one200

divide199:                                        ; preds = %else197
  %101 = sdiv i32 %97, %2
  br label %divided204

minus_one200:                                     ; preds = %special198
  %is_least207 = icmp eq i32 %97, -2147483648
  br i1 %is_least207, label %overflow202, label %negate203, !prof !7

by_zero201:                                       ; preds = %special198
  call void @hiaR_stub_fail(ptr swiftself %0, i32 160, i32 16, i64 0)
  unreachable

overflow202:                                      ; preds = %minus_one200
  call void @hiaR_stub_fail(ptr swiftself %0, i32 160, i32 17, i64 0)
  unreachable

negate203:                                        ; preds = %minus_one200
  %102 = sub i32 0, %97
  br label %divided204

divided204:                                       ; preds = %divide199, %negate203
  %quotient208 = phi i32 [ %102, %negate203 ], [ %101, %divide199 ]
  %103 = sub i32 %1, 17
  %104 = icmp eq i32 %103, 0
  br i1 %104, label %join209, label %else210

join209:                                          ; preds = %else210, %divided204
  %merge = phi i32 [ 0, %divided204 ], [ %106, %else210 ]
  %105 = add i32 %quotient208, %merge
  br label %join196

else210:                                          ; preds = %divided204
  call void asm sideeffect "cmpq %rsp, (%r13)\0A\09ja 2f\0A1:\0A\09.subsection 1\0A2:\09addq $$-128, %rsp\0A\09pushq %rax\0A\09leaq 1b(%rip), %rax\0A\09callq hiaR_stub_poll@PLT\0A\09popq %rax\0A\09subq $$-128, %rsp\0A\09jmp 1b\0A\09.subsection 0", "{r13},~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %0), !dbg !11
  %106 = call swiftcc i32 @sum_i32_i32_1(ptr swiftself %0, i32 %103, i32 %2) #3, !dbg !12
  br label %join209
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
  call void asm sideeffect "cmpq %rsp, (%r13)\0A\09ja 2f\0A1:\0A\09.subsection 1\0A2:\09addq $$-128, %rsp\0A\09pushq %rax\0A\09leaq 1b(%rip), %rax\0A\09callq hiaR_stub_poll@PLT\0A\09popq %rax\0A\09subq $$-128, %rsp\0A\09jmp 1b\0A\09.subsection 0", "{r13},~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %0), !dbg !16
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
!12 = !DILocation(line: 327, scope: !10)
!13 = distinct !DISubprogram(name: "hia_entry_1", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!14 = !DILocation(line: 0, scope: !13)
!15 = distinct !DISubprogram(name: "main(i32, i32)", scope: !1, file: !1, line: 5, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!16 = !DILocation(line: 5, scope: !15)
!17 = !DILocation(line: 40, scope: !15)
!18 = distinct !DISubprogram(name: "hia_entry_2", scope: !1, file: !1, type: !5, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!19 = !DILocation(line: 0, scope: !18)
