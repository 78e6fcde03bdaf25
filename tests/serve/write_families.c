/* write_families.c - `write_families FOLDER` writes a tiny pair of every family there, as NAME.gguf and
 * mmproj-NAME.gguf, and prints the names, for checks of the program. */
#include "tiny_families.h"

int main(int argc, char **argv)
{
    static tiny_file text, mmproj;
    if (argc != 2) return 2;
    for (int i = 0; i < N_TINY_FAMILIES; i++) {
        tiny_family_files((tiny_family)i, &text, &mmproj);
        tiny_write_pair(argv[1], tiny_family_name[i], &text, &mmproj);
        (void)printf("%s\n", tiny_family_name[i]);
    }
    return 0;
}
