/* decode_jpeg.c - JPEG through libjpeg-turbo's libjpeg API, the decoder Pillow uses.
 *
 * libjpeg reports errors by a function that must not return, so the work happens
 * in read_jpeg(), which holds the setjmp. All state lives in the caller's frame: nothing
 * that is read after a longjmp can have been kept in a register.
 *
 * A progress monitor bounds scans and time: a progressive file may hold any number
 * of scans over the same pixels.
 */
#include "image/decoder.h"

#include <limits.h>
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs FILE */
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#define ROWS_PER_CALL 16

typedef struct reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors; /* reachable from jpeg.client_data as part of the reader */
    struct jpeg_progress_mgr progress;
    jmp_buf leave;
    const s2_source *source;
    s2p_error *error;
    s2p_status status; /* why read_jpeg() left */
    long n_damages;    /* warnings that mean wrong or missing pixels */
    int first_damage;  /* message code of the first */
    int orientation;
    uint8_t *pixels;
} reader;

static reader *reader_of(j_common_ptr jpeg) { return jpeg->client_data; }

static s2p_status explain_jpeg(const reader *r, int code)
{
    const int *parameter = r->errors.msg_parm.i;
    switch (code) {
    case JERR_OUT_OF_MEMORY:
        return s2_fail(r->error, S2P_ENOMEM, "out of memory in the JPEG decoder");
    case JERR_NO_BACKING_STORE:
        return s2_fail(r->error, S2P_ELIMIT, "JPEG needs more than %ld bytes of working memory",
                       r->jpeg.mem->max_memory_to_use);
    case JERR_BAD_PRECISION:
        return s2_fail(r->error, S2P_EUNSUPPORTED, "JPEG has %d bits per sample; 8 are supported",
                       parameter[0]);
    case JERR_SOF_UNSUPPORTED:
        return s2_fail(r->error, S2P_EUNSUPPORTED,
                       "JPEG is lossless or hierarchical (frame type 0x%X), which is not supported",
                       (unsigned)parameter[0]);
    case JERR_ARITH_NOTIMPL:
        return s2_fail(r->error, S2P_EUNSUPPORTED,
                       "JPEG is arithmetic coded, which is not supported");
    case JERR_IMAGE_TOO_BIG:
        return s2_fail(r->error, S2P_ELIMIT,
                       "image is %ux%u px; the limit of JPEG is %d px per side",
                       r->jpeg.image_width, r->jpeg.image_height, parameter[0]);
    case JERR_EMPTY_IMAGE:
        return s2_fail(r->error, S2P_EFORMAT, "JPEG header says %ux%u px with %d components",
                       r->jpeg.image_width, r->jpeg.image_height, r->jpeg.num_components);
    case JERR_NO_SOI:
    case JERR_SOF_NO_SOS:
    case JERR_SOS_NO_SOF:
        return s2_fail(r->error, S2P_EFORMAT, "JPEG has no picture data");
    default:
        return s2_fail(r->error, S2P_EFORMAT, "JPEG is damaged near byte %zu of %zu",
                       r->source->n_bytes -
                           (r->jpeg.src ? r->jpeg.src->bytes_in_buffer : r->source->n_bytes),
                       r->source->n_bytes);
    }
}

_Noreturn static void leave(reader *r, s2p_status status)
{
    r->status = status;
    longjmp(r->leave, 1);
}

static void on_error(j_common_ptr jpeg)
{
    reader *r = reader_of(jpeg);
    leave(r, explain_jpeg(r, jpeg->err->msg_code));
}

/* Some warnings are about style, the others mean that pixels were guessed. */
static void on_message(j_common_ptr jpeg, int level)
{
    if (level >= 0) return;
    reader *r = reader_of(jpeg);
    switch (jpeg->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
        break;
    default:
        if (r->n_damages++ == 0) r->first_damage = jpeg->err->msg_code;
    }
}

static void on_output(j_common_ptr jpeg) { (void)jpeg; } /* the default prints */

static void on_progress(j_common_ptr jpeg)
{
    reader *r = reader_of(jpeg);
    if (r->jpeg.input_scan_number > r->source->limits.max_scans)
        leave(r, s2_fail(r->error, S2P_ELIMIT, "JPEG has more than %d scans",
                         (int)r->source->limits.max_scans));
    if (s2_source_is_late(r->source)) leave(r, s2_fail_late(r->source, "JPEG", r->error));
}

static void read_orientation(reader *r)
{
    for (jpeg_saved_marker_ptr m = r->jpeg.marker_list; m; m = m->next) {
        if (m->data_length < 6 || memcmp(m->data, "Exif\0\0", 6) != 0) continue;
        r->orientation = s2_exif_orientation(m->data, m->data_length);
        return;
    }
}

static void read_head(reader *r)
{
    jpeg_create_decompress(&r->jpeg);
    r->jpeg.progress = &r->progress;
    jpeg_mem_src(&r->jpeg, r->source->bytes, (unsigned long)r->source->n_bytes);
    if (r->source->pixels == S2_PIXELS_VIEWER) jpeg_save_markers(&r->jpeg, JPEG_APP0 + 1, 0xFFFF);
    (void)jpeg_read_header(&r->jpeg, TRUE);

    const s2p_status st =
        s2_source_admit(r->source, "JPEG", r->jpeg.image_width, r->jpeg.image_height, r->error);
    if (st != S2P_OK) leave(r, st);
    if (r->jpeg.num_components != 1 && r->jpeg.num_components != 3 && r->jpeg.num_components != 4)
        leave(r, s2_fail(r->error, S2P_EUNSUPPORTED,
                         "JPEG has %d components; 1 (gray), 3 (color) and 4 (CMYK) are supported",
                         r->jpeg.num_components));
    read_orientation(r);
}

/* 1/1, 1/2, 1/4 or 1/8: the transform itself computes fewer pixels. */
static void choose_scale(reader *r)
{
    const double most = (double)r->source->limits.reduce_pixels;
    const double all = (double)r->jpeg.image_width * r->jpeg.image_height;
    unsigned divisor = 1;
    while (most > 0 && divisor < 8 && all > most * divisor * divisor) divisor *= 2;
    r->jpeg.scale_num = 1;
    r->jpeg.scale_denom = divisor;
}

/* CMYK as Adobe's programs store it, inverted, to RGB as Pillow converts it. The four bytes of a
 * pixel are read before its three are written, so one row serves both. */
static void convert_cmyk(uint8_t *row, size_t n_pixels)
{
    for (size_t i = 0; i < n_pixels; i++) {
        const unsigned light = row[4 * i + 3]; /* 255 - black */
        uint8_t rgb[3];
        for (size_t c = 0; c < 3; c++) {
            const unsigned product = (255u - row[4 * i + c]) * light + 128;
            const unsigned ink = ((product >> 8) + product) >> 8;
            rgb[c] = (uint8_t)(light > ink ? light - ink : 0);
        }
        memcpy(row + 3 * i, rgb, 3);
    }
}

static void read_jpeg_rows(reader *r)
{
    const double memory = 9.0 * r->jpeg.image_width * r->jpeg.image_height + (64 << 20);
    r->jpeg.mem->max_memory_to_use = memory < (double)LONG_MAX ? (long)memory : LONG_MAX;
    const bool is_cmyk = r->jpeg.num_components == 4;
    r->jpeg.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
    choose_scale(r);
    (void)jpeg_start_decompress(&r->jpeg);
    const size_t width = r->jpeg.output_width, stride = 3 * width;
    r->pixels = s2_canvas_create(r->jpeg.output_width, r->jpeg.output_height, 3, r->error);
    if (!r->pixels) leave(r, S2P_ENOMEM);
    uint8_t *wide = NULL; /* libjpeg's own memory: freed with it, whatever happens */
    if (is_cmyk) wide = r->jpeg.mem->alloc_large((j_common_ptr)&r->jpeg, JPOOL_IMAGE, 4 * width);

    while (r->jpeg.output_scanline < r->jpeg.output_height) {
        JSAMPROW rows[ROWS_PER_CALL] = { wide };
        const JDIMENSION row = r->jpeg.output_scanline;
        JDIMENSION n = r->jpeg.output_height - row;
        if (n > ROWS_PER_CALL) n = ROWS_PER_CALL;
        for (JDIMENSION i = 0; !is_cmyk && i < n; i++) rows[i] = r->pixels + stride * (row + i);
        (void)jpeg_read_scanlines(&r->jpeg, rows, is_cmyk ? 1 : n);
        if (!is_cmyk) continue;
        convert_cmyk(wide, width);
        memcpy(r->pixels + stride * row, wide, stride);
    }
    (void)jpeg_finish_decompress(&r->jpeg); /* to the end mark, so that a cut file is noticed */
}

static bool read_jpeg(reader *r)
{
    if (setjmp(r->leave)) return false;
    read_head(r);
    read_jpeg_rows(r);
    return true;
}

static s2p_status decode_jpeg(const s2_source *source, s2_image *out, int *orientation,
                              s2p_error *error)
{
    reader r = { .source = source, .error = error, .orientation = 1 };
    r.jpeg.err = jpeg_std_error(&r.errors);
    r.jpeg.client_data = &r;
    r.errors.error_exit = on_error;
    r.errors.emit_message = on_message;
    r.errors.output_message = on_output;
    r.progress.progress_monitor = on_progress;

    s2p_status st = read_jpeg(&r) ? S2P_OK : r.status;
    if (st == S2P_OK && source->limits.strict && r.n_damages > 0)
        st = r.first_damage == JWRN_JPEG_EOF
                 ? s2_fail(error, S2P_EFORMAT, "JPEG is truncated after %zu bytes", source->n_bytes)
                 : s2_fail(error, S2P_EFORMAT, "JPEG is damaged: pixels are missing in %ld places",
                           r.n_damages);
    if (st == S2P_OK) {
        s2_image_adopt(out, r.pixels, r.jpeg.output_width, r.jpeg.output_height, S2_FORMAT_JPEG);
        if (r.jpeg.scale_denom > 1)
            out->stored = (s2_size){ (int32_t)r.jpeg.image_width, (int32_t)r.jpeg.image_height };
        *orientation = r.orientation;
    } else {
        free(r.pixels);
    }
    jpeg_destroy_decompress(&r.jpeg);
    return st;
}

static bool is_jpeg(const s2_source *source) { return s2_source_has(source, 0, "\xFF\xD8\xFF", 3); }

const s2_decoder s2_decoder_jpeg = { .name = "a JPEG", .knows = is_jpeg, .decode = decode_jpeg };
