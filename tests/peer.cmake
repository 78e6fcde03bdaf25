# llama.cpp beside us, where scripts/build-peer has built it; skipped otherwise.
if(S2_PYTHON)
  add_test(NAME peer_goldens COMMAND ${S2_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/peer/compare_goldens.py
    $<TARGET_FILE:s2prune_program> ${S2_GOLDENS})
  set_tests_properties(peer_goldens PROPERTIES SKIP_RETURN_CODE 77)
endif()
