/*
 * See date.h.
 */
#include "httpd/http/date.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char DAYS[7][10] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                 "Thursday", "Friday", "Saturday"};
static const char MONTHS[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/* Of the years that have four digits: 0 to 9999. */
#define FIRST_SECOND INT64_C(-62167219200)
#define LAST_SECOND  INT64_C(253402300799)

/* Returns the nearest second that has a date: a file may say of itself that it is as old as it likes. */
static time_t within_years(time_t second)
{
    if (second < FIRST_SECOND)
        return FIRST_SECOND;
    return second > LAST_SECOND ? LAST_SECOND : second;
}

void http_date_update(struct http_date *date, time_t second)
{
    struct tm utc;
    char text[64]; /* room for years that will not come, or the compiler warns */

    if (date->second == second && date->text[0])
        return;
    gmtime_r(&(time_t){within_years(second)}, &utc);
    snprintf(text, sizeof(text), "%.3s, %02d %s %04d %02d:%02d:%02d GMT", DAYS[utc.tm_wday], utc.tm_mday,
             MONTHS[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
    memcpy(date->text, text, HTTP_DATE_LENGTH);
    date->text[HTTP_DATE_LENGTH] = '\0';
    date->second = second;
}

/* What is left of the text; a taker that fails sets `failed`, and then nothing else counts. */
struct cursor {
    const char *text, *end;
    bool failed;
};

static void take_text(struct cursor *cursor, const char *expected)
{
    const size_t length = strlen(expected);

    if ((size_t)(cursor->end - cursor->text) < length || memcmp(cursor->text, expected, length) != 0)
        cursor->failed = true;
    else
        cursor->text += length;
}

/* Takes exactly `digits` digits. */
static int take_number(struct cursor *cursor, int digits)
{
    int number = 0;

    for (; digits > 0; digits--) {
        if (cursor->text == cursor->end || *cursor->text < '0' || *cursor->text > '9') {
            cursor->failed = true;
            return 0;
        }
        number = number * 10 + (*cursor->text++ - '0');
    }
    return number;
}

/* The day of asctime has a space in place of a leading zero. */
static int take_padded_day(struct cursor *cursor)
{
    if (cursor->text < cursor->end && *cursor->text == ' ') {
        cursor->text++;
        return take_number(cursor, 1);
    }
    return take_number(cursor, 2);
}

static int take_month(struct cursor *cursor)
{
    for (int month = 0; month < 12; month++) {
        if (cursor->end - cursor->text >= 3 && memcmp(cursor->text, MONTHS[month], 3) == 0) {
            cursor->text += 3;
            return month;
        }
    }
    cursor->failed = true;
    return 0;
}

static void take_time(struct cursor *cursor, struct tm *utc)
{
    utc->tm_hour = take_number(cursor, 2);
    take_text(cursor, ":");
    utc->tm_min = take_number(cursor, 2);
    take_text(cursor, ":");
    utc->tm_sec = take_number(cursor, 2);
}

/* Takes the name of the day, whole (RFC 850) or three letters of it. Returns how many letters, 0 if none. */
static size_t take_day_name(struct cursor *cursor)
{
    const size_t left = (size_t)(cursor->end - cursor->text);

    for (int day = 0; day < 7; day++) {
        const size_t whole = strlen(DAYS[day]);

        if (left > whole && memcmp(cursor->text, DAYS[day], whole) == 0) {
            cursor->text += whole;
            return whole;
        }
        if (left > 3 && memcmp(cursor->text, DAYS[day], 3) == 0) {
            cursor->text += 3;
            return 3;
        }
    }
    return 0;
}

/* §5.6.7: a date that seems more than 50 years ahead is in the past. */
static int whole_year(int two_digits, time_t now)
{
    struct tm utc;
    int year;

    gmtime_r(&now, &utc);
    year = (utc.tm_year + 1900) / 100 * 100 + two_digits;
    return year > utc.tm_year + 1900 + 50 ? year - 100 : year;
}

/* Says whether a month (from 0 on) has such a day. */
static bool has_day(int year, int month, int day)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return day >= 1 && day <= days[month] + (month == 1 && is_leap_year);
}

bool http_date_parse(const char *text, size_t length, time_t now, time_t *second)
{
    struct cursor cursor = {.text = text, .end = text + length};
    struct tm utc = {0};
    const size_t day_letters = take_day_name(&cursor);
    int year;

    if (day_letters == 0)
        return false;
    if (day_letters == 3 && *cursor.text == ' ') { /* Sun Nov  6 08:49:37 1994 */
        take_text(&cursor, " ");
        utc.tm_mon = take_month(&cursor);
        take_text(&cursor, " ");
        utc.tm_mday = take_padded_day(&cursor);
        take_text(&cursor, " ");
        take_time(&cursor, &utc);
        take_text(&cursor, " ");
        year = take_number(&cursor, 4);
    } else { /* Sun, 06 Nov 1994 08:49:37 GMT or Sunday, 06-Nov-94 08:49:37 GMT */
        const char *separator = day_letters == 3 ? " " : "-";

        take_text(&cursor, ", ");
        utc.tm_mday = take_number(&cursor, 2);
        take_text(&cursor, separator);
        utc.tm_mon = take_month(&cursor);
        take_text(&cursor, separator);
        year = day_letters == 3 ? take_number(&cursor, 4) : whole_year(take_number(&cursor, 2), now);
        take_text(&cursor, " ");
        take_time(&cursor, &utc);
        take_text(&cursor, " GMT");
    }
    if (cursor.failed || cursor.text != cursor.end || !has_day(year, utc.tm_mon, utc.tm_mday) ||
        utc.tm_hour > 23 || utc.tm_min > 59 || utc.tm_sec > 60)
        return false;
    utc.tm_year = year - 1900;
    *second = timegm(&utc);
    return true;
}
