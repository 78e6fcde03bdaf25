# What the program and the image layer stand on; the pruning library needs none of it.
find_package(PkgConfig REQUIRED)
find_package(JPEG REQUIRED)
pkg_check_modules(SPNG REQUIRED IMPORTED_TARGET spng)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(TIFF IMPORTED_TARGET libtiff-4>=4.5) # TIFF pictures; without it they are refused with a sentence
pkg_check_modules(HEIF IMPORTED_TARGET libheif>=1.12) # HEIC and AVIF pictures, likewise
pkg_check_modules(CURL IMPORTED_TARGET libcurl) # models by name; without it from caches only
pkg_check_modules(LIBEDIT IMPORTED_TARGET libedit) # a conversation can do without
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
# Parquet pages, for the evaluation.
find_package(ZLIB REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(SNAPPY REQUIRED IMPORTED_TARGET snappy)
