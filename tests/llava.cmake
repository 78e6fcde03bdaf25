# LLaVA-OneVision: the tower against arithmetic in double, views, pruning, refusals. And what both towers attend to.
foreach(name llava llava_tower watch)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/engine/${name}) # tests run at the same time
  file(MAKE_DIRECTORY ${folder})
  s2_unit_test(${name} LINK s2_engine m ARGS ${folder})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "OMP_WAIT_POLICY=passive")
endforeach()
