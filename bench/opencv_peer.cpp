#include "opencv_peer.h"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

struct opencv_peer {
    cv::Mat rgb, gray, laplacian16, laplacian64;
};

opencv_peer *opencv_peer_create(uint8_t *rgb, int width, int height)
{
    cv::setNumThreads(1);
    auto *peer = new opencv_peer;
    peer->rgb = cv::Mat(height, width, CV_8UC3, rgb);
    return peer;
}

void opencv_peer_free(opencv_peer *peer) { delete peer; }

void opencv_peer_run(opencv_peer *peer, int is_double, const int *rectangles, int n,
                     double *variance)
{
    cv::Mat &laplacian = is_double ? peer->laplacian64 : peer->laplacian16;
    cv::cvtColor(peer->rgb, peer->gray, cv::COLOR_RGB2GRAY);
    cv::Laplacian(peer->gray, laplacian, is_double ? CV_64F : CV_16S, 1, 1, 0,
                  cv::BORDER_REPLICATE);
    for (int i = 0; i < n; i++, rectangles += 4) {
        cv::Scalar mean, deviation;
        const cv::Rect region(rectangles[0], rectangles[1], rectangles[2] - rectangles[0],
                              rectangles[3] - rectangles[1]);
        cv::meanStdDev(laplacian(region), mean, deviation);
        variance[i] = deviation[0] * deviation[0];
    }
}
