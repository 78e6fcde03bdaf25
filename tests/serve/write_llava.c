/* write_llava.c - `write_llava FOLDER` writes the tiny LLaVA-OneVision pair there, as llava.gguf and
 * mmproj-llava.gguf, for checks of the program. */
#include "tiny_llava.h"

int main(int argc, char **argv)
{
    static tiny_file text, mmproj;
    if (argc != 2) return 2;
    vocabulary_init(&tiny_words);
    llava_text(&text);
    llava_mmproj(&mmproj);
    tiny_write_pair(argv[1], "llava", &text, &mmproj);
    return 0;
}
