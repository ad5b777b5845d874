/*
 * cmocka wants these four headers in this order before its own; test programs include this file instead.
 */
#ifndef TRIMTAB_TEST_UNIT_H
#define TRIMTAB_TEST_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
