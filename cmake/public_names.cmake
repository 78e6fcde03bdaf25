# The functions of the public headers, one name for each line: what the libraries show of themselves.
#
#   cmake -DHEADERS="a.h;b.h" -DOUT=names.txt -P public_names.cmake
set(names "")
foreach(header IN LISTS HEADERS)
  file(STRINGS "${header}" lines REGEX "^S2[PV]_API ")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "(s2[pv]_[a-z0-9_]+)\\(" found "${line}")
    list(APPEND names ${CMAKE_MATCH_1})
  endforeach()
endforeach()
list(SORT names)
string(REPLACE ";" "\n" text "${names}")
file(WRITE "${OUT}" "${text}\n")
