/* Arrays that grow. A part of addfg_main.c.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

/* The array with more room, so that it has a thing with this number. All that it did not have is zeros. */
static void *more_room(void *array, SizeT number, UInt *room, SizeT size)
{
    SizeT had = *room, now = number * 2 + 16;
    array = VG_(realloc)("addfg.room", array, now * size);
    VG_(memset)((UChar *)array + had * size, 0, (now - had) * size);
    *room = now;
    return array;
}

static inline void *with_room(void *array, SizeT number, UInt *room, SizeT size)
{
    return number < *room ? array : more_room(array, number, room, size);
}

#define ROOM(array, number, room) ((array) = with_room((array), (number), &(room), sizeof *(array)))
