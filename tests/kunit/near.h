/* SPDX-License-Identifier: GPL-2.0 */
/* An expectation with a tolerance, which KUnit does not have. */
#ifndef _TCPCC_KUNIT_NEAR_H
#define _TCPCC_KUNIT_NEAR_H

#include <linux/math64.h>

#include <kunit/test.h>

/* |have - want| <= want * ppm / 10^6, at least 1 */
#define EXPECT_NEAR(test, have, want, ppm) do {				\
	s64 __have = (have), __want = (want);				\
	s64 __off = abs(__have - __want);				\
	s64 __tol = max_t(s64, mul_u64_u32_div(abs(__want), ppm, 1000000), 1);\
									\
	KUNIT_EXPECT_LE_MSG(test, __off, __tol,				\
			    "line %d: have %lld, want %lld", __LINE__,	\
			    __have, __want);				\
} while (0)

#endif /* _TCPCC_KUNIT_NEAR_H */
