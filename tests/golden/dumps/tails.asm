hia_poll:
gcd_i64_i64_0:
hia_entry_0:
hia_entry_1:
hia_entry_2:
main_i64_i64_3:
hia_entry_3:
