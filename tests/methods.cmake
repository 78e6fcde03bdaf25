# Published methods: rules by hand, and recorded arrays on their way to a method.
s2_unit_test(methods_rules LINK s2prune)
s2_unit_test(recorded LINK s2_tools)
