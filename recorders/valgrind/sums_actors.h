/* Who writes and reads: functions in calling contexts, as far as cells have numbers for them. A part of addfg_main.c.
 *
 * The context is the chain of callers with each function once, where it was called last: that of
 * `src/analysis/contexts.rs`. At first each chain gets a number. When half of them have gone, only chains that are
 * called often do; the others of a function have one together.
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

struct Actor_ {
    /* Of its cells and tags; its function. */
    UInt number, function;
    /* Its chain; 0: it is of several contexts, and `context` is the one with the most steps. */
    UInt chain, context;
    /* What a stub is merged into; NULL: it is none, or nothing called it. */
    Actor *into;
    /* Of a stub: instances that have ended, and their own steps. */
    ULong calls, steps;
    /* The stub that it called last. */
    Actor *stub;
    /* What it has done, by segment of its function; NULL: it was not there. */
    Segment **state;
    Actor *next; /* of the function */
};

/* By number: the first is none. Numbers of the kernel are behind them. */
static Actor **actors;
static UInt actor_count = 1, actor_room;
#define ACTOR_MOST (KERNEL_CELL - 256)
/* Functions of all images. A third of them, and some more, have numbers kept for them. */
static UInt functions_known;

/* Chains by the chain of the callers (0: none) and the function, and by chain its first context and its actor. */
static Counts chains;
static UInt *chain_context, chain_context_room;
static Actor **chain_actor;
static UInt chain_actor_room;
/* By context: its chain, and the actor of its own function as long as that stays. */
static UInt *chain_of, chain_of_room;
static Actor **own_actor;
static UInt own_actor_room;
/* Chains of instances that count for their callers' contexts; actors of several contexts; stubs in actors. */
static Counts beyond, several, stubs_in;

/* The function that an actor is; sources and sinks are themselves. */
static UInt function_behind(UInt number) { return number && !(number & SOURCE) ? actors[number]->function : number; }

static Actor *new_actor(UInt function, UInt chain, Actor *into)
{
    Function *of = function_of(function);
    Actor *new = VG_(calloc)("addfg.actor", 1, sizeof *new);
    Bool full = actor_count >= ACTOR_MOST;
    if (full) problem(TOO_MANY_FUNCTIONS);
    new->number = full ? ACTOR_MOST - 1 : actor_count++;
    new->function = function;
    new->chain = chain;
    new->into = into;
    new->state = VG_(calloc)("addfg.states", of->segment_room + 1, sizeof *new->state);
    new->next = of->actors;
    of->actors = new;
    ROOM(actors, new->number, actor_room);
    if (!full) actors[new->number] = new;
    return new;
}

static UInt chain_with(UInt chain, UInt function) { return counted(&chains, chain, function, 0, True)->id; }

static UInt chain_without(UInt chain, UInt function)
{
    const Counted row = chains.row[chain - 1];
    return row.b == function ? row.a : chain_with(chain_without(row.a, function), row.b);
}

/* A chain and what it calls: each function where it was called last. */
static UInt straight_chain(UInt chain, UInt function)
{
    for (UInt c = chain; c; c = chains.row[c - 1].a)
        if (chains.row[c - 1].b == function) return chain_with(chain_without(chain, function), function);
    return chain_with(chain, function);
}

/* The calls from which on a chain has an actor of its own. */
static ULong calls_for_actor(void)
{
    static const UInt calls[] = { 1, 1, 1, 1, 4, 16, 64, 512 };
    Int most = ACTOR_MOST - 1000 - (Int)(functions_known / 3);
    UInt eighth = (most > 2048 ? most : 2048) / 8;
    return actor_count < 8 * eighth ? calls[actor_count / eighth] : ~0ULL;
}

/* Who a function is in a chain that was called so often. */
static Actor *actor_of_chain(UInt chain, UInt function, ULong calls)
{
    ROOM(chain_actor, chain, chain_actor_room);
    if (chain_actor[chain]) return chain_actor[chain];
    if (calls >= calls_for_actor()) return chain_actor[chain] = new_actor(function, chain, NULL);
    Counted *row = counted(&several, function, 0, 0, True);
    if (!row->last) row->last = new_actor(function, 0, NULL)->number;
    return actors[row->last];
}

static Actor *stub_in(Actor *above, UInt function)
{
    Actor *into = above->into ? above->into : above;
    if (into->stub && into->stub->function == function) return into->stub;
    Counted *row = counted(&stubs_in, into->number, function, 0, True);
    if (!row->last) row->last = new_actor(function, 0, into)->number;
    return into->stub = actors[row->last];
}

/* Who an instance is that counts for a context; `above`: what called it, if it is a stub. */
static Actor *actor_in(UInt context, UInt function, Actor *above)
{
    if (above) return stub_in(above, function);
    ROOM(chain_of, context, chain_of_room);
    ROOM(own_actor, context, own_actor_room);
    const Counted *row = contexts.row + context - 1;
    if (row->b != function) {
        Counted *there = counted(&beyond, context, function, 0, True);
        if (!there->last) there->last = straight_chain(chain_of[context], function);
        return actor_of_chain(there->last, function, ++there->calls);
    }
    if (own_actor[context] && own_actor[context]->chain) return own_actor[context];
    if (!chain_of[context]) {
        UInt chain = chain_of[context] = straight_chain(row->a ? chain_of[row->a] : 0, function);
        ROOM(chain_context, chain, chain_context_room);
        if (!chain_context[chain]) chain_context[chain] = context;
    }
    return own_actor[context] = actor_of_chain(chain_of[context], function, row->calls);
}

/* The context that an actor's data is told to be of; 0: none. */
static UInt context_of(const Actor *actor)
{
    if (actor->into) actor = actor->into;
    if (!actor->chain) return actor->context;
    return actor->chain < chain_context_room ? chain_context[actor->chain] : 0;
}

static void find_contexts(void)
{
    for (UInt c = 1; c <= contexts.count && c < own_actor_room; c++) {
        Actor *actor = own_actor[c];
        if (!actor || actor->chain) continue;
        if (!actor->context || contexts.row[c - 1].steps > contexts.row[actor->context - 1].steps) actor->context = c;
    }
}
