/* clock.h - how long something took. */
#ifndef S2_BASE_CLOCK_H
#define S2_BASE_CLOCK_H

/* Milliseconds since an arbitrary moment; never goes back. */
double s2_now_ms(void);

#endif /* S2_BASE_CLOCK_H */
