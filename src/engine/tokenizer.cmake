# Text to tokens and back, chat formats, sampling. utf8proc has the tables of Unicode.
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
target_sources(s2_engine PRIVATE unicode.c pretokenize.c bpe.c tokenizer_vocab.c tokenizer_load.c
  tokenizer.c tokenizer_text.c template.c sample.c sample_stop.c)
target_link_libraries(s2_engine PRIVATE PkgConfig::UTF8PROC m)
