s2_unit_test(base LINK s2_base)
s2_unit_test(markup LINK s2_base)
s2_unit_test(npy LINK s2_base)
target_link_options(test_npy PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
