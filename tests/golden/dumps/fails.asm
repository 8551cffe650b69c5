hia_poll:
part_i32_i32_0:
hia_entry_0:
sum_i32_i32_1:
hia_entry_1:
main_i32_i32_2:
hia_entry_2:
