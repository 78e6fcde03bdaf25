/* opencv_peer.h - the pixel stage as one would write it with OpenCV, on one thread. */
#ifndef BENCH_OPENCV_PEER_H
#define BENCH_OPENCV_PEER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opencv_peer opencv_peer; /* the picture and the images in between, kept */

opencv_peer *opencv_peer_create(uint8_t *rgb, int width, int height);
void opencv_peer_free(opencv_peer *peer);

/* cvtColor, Laplacian (16-bit or double), meanStdDev of each region; rectangles are x0 y0 x1 y1. */
void opencv_peer_run(opencv_peer *peer, int is_double, const int *rectangles, int n,
                     double *variance);

#ifdef __cplusplus
}
#endif
#endif /* BENCH_OPENCV_PEER_H */
