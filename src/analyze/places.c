/* places.c - edge and centre of a grid of tokens. */
#include "analyze/spatial_figures.h"

bool s2_is_edge(s2p_grid grid, int32_t token)
{
    const int32_t r = token / grid.cols, c = token % grid.cols;
    return r < 2 || c < 2 || r >= grid.rows - 2 || c >= grid.cols - 2;
}

bool s2_is_centre(s2p_grid grid, int32_t token)
{
    const int32_t r = token / grid.cols, c = token % grid.cols;
    return r >= grid.rows / 4 && r < grid.rows - grid.rows / 4 && c >= grid.cols / 4 &&
           c < grid.cols - grid.cols / 4;
}

double s2_area_share(s2p_grid grid, bool (*is_inside)(s2p_grid, int32_t))
{
    int32_t n = 0;
    for (int32_t i = 0; i < grid.rows * grid.cols; i++) n += is_inside(grid, i);
    return (double)n / (grid.rows * grid.cols);
}
