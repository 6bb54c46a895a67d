/* Marks in a program for addfg's recorder: they cost some instructions each and do nothing where it is
 * not recorded. valgrind/valgrind.h comes with valgrind (Debian: apt-get install valgrind).
 *
 *     ADDFG_BEGIN();      `addfg record --marked` records from here
 *     decode(image);
 *     ADDFG_END();        to here, as often as the program comes by
 *
 * Copyright the addfg authors. MIT or Apache-2.0, as you like.
 */
#ifndef ADDFG_MARK_H
#define ADDFG_MARK_H

#include <valgrind/valgrind.h>

enum {
    ADDFG_REQUEST_BEGIN = VG_USERREQ_TOOL_BASE('A', 'F'),
    ADDFG_REQUEST_END,
    ADDFG_REQUEST_MARK
};

#define ADDFG_BEGIN() VALGRIND_DO_CLIENT_REQUEST_STMT(ADDFG_REQUEST_BEGIN, 0, 0, 0, 0, 0)
#define ADDFG_END() VALGRIND_DO_CLIENT_REQUEST_STMT(ADDFG_REQUEST_END, 0, 0, 0, 0, 0)
/* A row of the table `marker` with this number. */
#define ADDFG_MARK(number) VALGRIND_DO_CLIENT_REQUEST_STMT(ADDFG_REQUEST_MARK, (number), 0, 0, 0, 0)

#endif
