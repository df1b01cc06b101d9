// SPDX-License-Identifier: BSD-2-Clause
package checks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The part of JSON that the description of the API uses: objects, arrays, strings, and whole numbers. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** The value that a text holds. */
    static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value();
        if (json.peek() != 0) {
            throw json.wrong("the end");
        }
        return value;
    }

    private Object value() {
        char next = peek();
        if (next == '{') {
            Map<String, Object> members = new LinkedHashMap<>();
            for (char c = open(); c != '}'; c = between('}')) {
                String name = string();
                take(':');
                members.put(name, value());
            }
            at++;
            return members;
        }
        if (next == '[') {
            List<Object> elements = new ArrayList<>();
            for (char c = open(); c != ']'; c = between(']')) {
                elements.add(value());
            }
            at++;
            return elements;
        }
        return next == '"' ? string() : number();
    }

    private String string() {
        take('"');
        StringBuilder string = new StringBuilder();
        while (text.charAt(at) != '"') {
            char c = text.charAt(at++);
            if (c == '\\') {
                c = text.charAt(at++);
                if (c == 'u') {
                    c = (char) Integer.parseInt(text.substring(at, at + 4), 16);
                    at += 4;
                } else {
                    int known = "nrtbf".indexOf(c);
                    c = known < 0 ? c : "\n\r\t\b\f".charAt(known);
                }
            }
            string.append(c);
        }
        at++;
        return string.toString();
    }

    private Long number() {
        int from = at;
        while (at < text.length() && "-0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        if (at == from) {
            throw wrong("a value");
        }
        return Long.valueOf(text.substring(from, at));
    }

    /** The next character that is no space; 0 at the end. */
    private char peek() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private char open() {
        at++;
        return peek();
    }

    private char between(char end) {
        if (peek() == end) {
            return end;
        }
        take(',');
        return peek();
    }

    private void take(char wanted) {
        if (peek() != wanted) {
            throw wrong("'" + wanted + "'");
        }
        at++;
    }

    private IllegalArgumentException wrong(String wanted) {
        return new IllegalArgumentException("no JSON: " + wanted + " was expected at " + at);
    }
}
