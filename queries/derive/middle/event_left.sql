-- Entries and exits that are to be matched with each other: all of them.
-- reads: call_event_row
-- event_no, thread_id, is_enter, function_id
CREATE OR REPLACE TEMP TABLE event_left AS SELECT event_no, thread_id, kind = 0 AS is_enter, function_id FROM call_event_row;
CREATE OR REPLACE TEMP TABLE event_match (enter_event BIGINT, return_event BIGINT, unwound BOOLEAN);
