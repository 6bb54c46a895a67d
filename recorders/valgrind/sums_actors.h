/* Who writes and reads: functions in calling contexts. A part of addfg_main.c.
 *
 * The context is the chain of callers with each function once, where it was called last: that of
 * `src/analysis/contexts.rs`. Actors are many, and cells have numbers for few: an actor has one while it runs and as
 * long as something that it wrote is there. When no number is left, those are given back (sums_numbers.h).
 *
 * Copyright the addfg authors. GPL-2.0-or-later, as it is linked with Valgrind's core.
 */

struct Actor_ {
    /* By which rows are told. */
    UInt id, function;
    /* Of its cells and tags; 0: it has none now. */
    UInt number;
    /* Its chain; 0: it is of several contexts, and `context` is the one with the most steps. */
    UInt chain, context;
    /* Instances that began, each time that numbers are given back half of them. */
    UInt lately;
    /* What a stub is merged into; NULL: it is none, or nothing called it. */
    Actor *into;
    /* Of a stub: instances that have ended, and their own steps. */
    ULong calls, steps;
    /* The stub that it called last. */
    Actor *stub;
    /* What it has done, by segment of its function; NULL: it was not there. */
    State **state;
    Actor *next; /* of the function */
};

/* By id; the first is none. */
static Actor **actors;
static UInt actor_count = 1, actor_room;

/* Numbers of the kernel are behind them. */
#define NUMBERS (KERNEL_CELL - KERNEL_NAMES)
static Actor *numbered[NUMBERS];
static UInt numbered_id[NUMBERS];
static UShort free_number[NUMBERS];
/* Numbers that there are (fewer in tests), that have been given, and that were given back. */
static Int numbers = NUMBERS;
static Int given = 1;
static UInt free_numbers;
static void collect_numbers(void);
/* Steps before which it would find as few as last time. */
static ULong collect_from;
/* Calls from which on a chain has an actor of its own. */
static UInt calls_for_actor = 1;

/* Chains by the chain of the callers (0: none) and the function, and by chain its first context and its actor. */
static Counts chains;
static UInt *chain_context, chain_context_room;
static Actor **chain_actor;
static UInt chain_actor_room;
/* By context: its chain, and who its own function was there last. */
static UInt *chain_of, chain_of_room;
static Actor **own_actor;
static UInt own_actor_room;
/* Chains of instances that count for their callers' contexts; actors of several contexts; stubs in actors. */
static Counts beyond, several, stubs_in;

/* The actor with a number; sources and sinks are themselves. */
static inline UInt id_of(UInt number) { return number && !(number & SOURCE) ? numbered_id[number] : number; }

static UInt function_behind(UInt id) { return id && !(id & SOURCE) ? actors[id]->function : id; }

static Actor *new_actor(UInt function, UInt chain, Actor *into)
{
    Function *of = function_of(function);
    Actor *new = VG_(calloc)("addfg.actor", 1, sizeof *new);
    new->id = actor_count++;
    new->function = function;
    new->chain = chain;
    new->into = into;
    new->next = of->actors;
    of->actors = new;
    ROOM(actors, new->id, actor_room);
    return actors[new->id] = new;
}

static void have_number(Actor *actor, UInt number)
{
    actor->number = number;
    numbered[number] = actor;
    numbered_id[number] = actor->id;
}

static void give_number(Actor *actor, UInt number)
{
    have_number(actor, number);
    actor->state = VG_(calloc)("addfg.states", functions[actor->function].segment_room + 1, sizeof *actor->state);
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

static Actor *actor_of_several(UInt function)
{
    Counted *row = counted(&several, function, 0, 0, True);
    if (!row->last) row->last = new_actor(function, 0, NULL)->id;
    return actors[row->last];
}

/* Who a function is in a chain that was called so often. */
static Actor *actor_of_chain(UInt chain, UInt function, ULong calls)
{
    ROOM(chain_actor, chain, chain_actor_room);
    Actor *of = chain_actor[chain];
    if (of && of->number) return of;
    if (calls < calls_for_actor) return actor_of_several(function);
    return of ? of : (chain_actor[chain] = new_actor(function, chain, NULL));
}

static Actor *stub_in(Actor *above, UInt function)
{
    Actor *into = above->into ? above->into : above;
    if (into->stub && into->stub->function == function) return into->stub;
    Counted *row = counted(&stubs_in, into->id, function, 0, True);
    if (!row->last) row->last = new_actor(function, 0, into)->id;
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
    Actor *own = own_actor[context];
    if (own && own->number && own->chain) return own;
    if (!chain_of[context]) {
        UInt chain = chain_of[context] = straight_chain(row->a ? chain_of[row->a] : 0, function);
        ROOM(chain_context, chain, chain_context_room);
        if (!chain_context[chain]) chain_context[chain] = context;
    }
    return own_actor[context] = actor_of_chain(chain_of[context], function, row->calls);
}

/* Who a new instance is. */
static Actor *begin_actor(UInt context, UInt function, Actor *above)
{
    Actor *actor = actor_in(context, function, above);
    actor->lately++;
    if (actor->number) return actor;
    if (!free_numbers && given >= numbers && steps_done >= collect_from) collect_numbers();
    /* It may be what others have become. */
    if (actor->number) return actor;
    if (free_numbers) give_number(actor, free_number[--free_numbers]);
    else if (given < numbers) give_number(actor, given++);
    else {
        Actor *whole = actor_of_several(function);
        if (whole->number) return whole;
        problem(TOO_MANY_FUNCTIONS);
        give_number(actor, numbers - 1);
    }
    return actor;
}

/* The context that an actor's data is told to be of; 0: none. */
static UInt context_of(const Actor *actor)
{
    if (actor->into) actor = actor->into;
    if (!actor->chain) return actor->context;
    return actor->chain < chain_context_room ? chain_context[actor->chain] : 0;
}

/* Whether several contexts count as one. */
static Bool is_of_several(const Actor *actor) { return !actor->into && !actor->chain; }

static void find_contexts(void)
{
    for (UInt c = 1; c <= contexts.count && c < own_actor_room; c++) {
        Actor *actor = own_actor[c];
        if (!actor || !is_of_several(actor)) continue;
        if (!actor->context || contexts.row[c - 1].steps > contexts.row[actor->context - 1].steps) actor->context = c;
    }
}
