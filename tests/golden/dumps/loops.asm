hia_entry_0:
hia_entry_1:
hia_typed_0:
hia_typed_1:
hia_module:
