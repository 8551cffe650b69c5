hia_poll:
hia_entry_0:
hia_entry_1:
