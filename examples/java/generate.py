#!/usr/bin/env python3
"""Writes the Java interface of the C API from its description: nothing of it is typed in by hand.

usage: generate.py include/syncedmem.json > syncedmem/SyncedmemLibrary.java
"""

import json
import re
import sys
from typing import Any

HEADER = """\
// libsyncedmem's C API as JNA sees it. SPDX-License-Identifier: BSD-2-Clause
// Generated from include/syncedmem.json by generate.py. Do not edit.
package syncedmem;

import com.sun.jna.Callback;
import com.sun.jna.DefaultTypeMapper;
import com.sun.jna.FromNativeContext;
import com.sun.jna.Library;
import com.sun.jna.Pointer;
import com.sun.jna.PointerType;
import com.sun.jna.Structure;
import com.sun.jna.ToNativeContext;
import com.sun.jna.TypeConverter;
import com.sun.jna.TypeMapper;
import com.sun.jna.ptr.ByteByReference;
import com.sun.jna.ptr.DoubleByReference;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Every function of the C API, under its own name: what each asks for is in syncedmem.h. Addresses and lengths are the
 * caller's affair here as they are in C; {@link SyncedMemory} is what looks after them.
 */
public interface SyncedmemLibrary extends Library {
    /** The version of the header that this was made from. */
    String VERSION = "%(version)s";

    /** JNA on its own passes true as -1 in 32 bits, and 255 is no C bool: a byte of 0 or 1 is. */
    TypeConverter BOOL = new TypeConverter() {
        @Override
        public Object toNative(Object value, ToNativeContext context) {
            return (byte) (Boolean.TRUE.equals(value) ? 1 : 0);
        }

        @Override
        public Object fromNative(Object value, FromNativeContext context) {
            return ((Number) value).byteValue() != 0;
        }

        @Override
        public Class<?> nativeType() {
            return Byte.class;
        }
    };

    /** Text is UTF-8. JNA on its own takes the locale's characters, and drops what is behind a NUL. */
    TypeConverter TEXT = new TypeConverter() {
        @Override
        public Object toNative(Object value, ToNativeContext context) {
            String text = (String) value;
            if (text.indexOf('\\0') >= 0) {
                throw new IllegalArgumentException("text with a NUL in it");
            }
            return (text + '\\0').getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public Object fromNative(Object value, FromNativeContext context) {
            return value == null ? null : ((Pointer) value).getString(0, "UTF-8");
        }

        @Override
        public Class<?> nativeType() {
            return Pointer.class;
        }
    };

    /** How C's types are passed that JNA would pass otherwise. */
    static TypeMapper types() {
        DefaultTypeMapper mapper = new DefaultTypeMapper();
        mapper.addTypeConverter(Boolean.class, BOOL);
        mapper.addTypeConverter(String.class, TEXT);
        return mapper;
    }

    /** What Native.load is to be given; JNA looks for a field of this name, too. */
    Map<String, Object> OPTIONS = Map.of(OPTION_TYPE_MAPPER, types());
"""

# C types that are the same in every function. size_t has 64 bits wherever the library is built.
SCALARS = {
    "void": "void",
    "bool": "boolean",
    "uint8_t": "byte",
    "int": "int",
    "int32_t": "int",
    "uint32_t": "int",
    "int64_t": "long",
    "uint64_t": "long",
    "size_t": "long",
    "double": "double",
    "const char *": "String",
    "void *": "Pointer",
    "const void *": "Pointer",
}
POINTERS = {
    "bool *": "ByteByReference",
    "int *": "IntByReference",
    "int32_t *": "IntByReference",
    "size_t *": "LongByReference",
    "int64_t *": "LongByReference",
    "uint64_t *": "LongByReference",
    "double *": "DoubleByReference",
    "char *": "byte[]",
    "const int64_t *": "long[]",
    "void **": "PointerByReference",
    "const void **": "PointerByReference",
    "const char **": "PointerByReference",
    "const char *const *": "String[]",
}


def java_name(c_name: str) -> str:
    """syncedmem_memory_stats_t becomes MemoryStats, syncedmem_t Syncedmem, and CUstream_st CUstream."""
    name = re.sub(r"_s?t$", "", c_name)
    name = re.sub(r"^syncedmem_", "", name)
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def first_sentence(doc: str) -> str:
    """The first sentence of a piece of documentation, as Javadoc."""
    text = " ".join(doc.split("\n\n")[0].split())
    text = re.split(r"(?<=\.) (?=[A-Z])", text)[0]
    for character, entity in [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "&#64;"), ("*/", "*&#47;")]:
        text = text.replace(character, entity)
    return re.sub(r"`([^`]*)`", r"{@code \1}", text)


class Writer:
    """The interface, as it grows."""

    def __init__(self, api: dict[str, Any]) -> None:
        self.api = api
        self.lines: list[str] = [HEADER % api]
        self.values = dict(SCALARS)
        self.pointers = dict(POINTERS)
        for enum in api["enums"]:
            self.values[enum["name"]] = SCALARS[enum["type"]]
            self.pointers[enum["name"] + " *"] = "IntByReference"
        for opaque in api["opaque"]:
            self.pointers[opaque["name"] + " *"] = java_name(opaque["name"])
            self.pointers["const " + opaque["name"] + " *"] = java_name(opaque["name"])
            self.pointers[opaque["name"] + " **"] = "PointerByReference"
        for struct in api["structs"]:
            self.values[struct["name"]] = java_name(struct["name"])
            self.pointers[struct["name"] + " *"] = java_name(struct["name"])
            self.pointers["const " + struct["name"] + " *"] = java_name(struct["name"])
        for callback in api["callbacks"]:
            self.values[callback["name"]] = java_name(callback["name"])

    def java_type(self, c_type: str) -> str:
        """A C type in Java; one that is not known is an error, never a guess."""
        java = self.values.get(c_type) or self.pointers.get(c_type)
        if java is None:
            raise SystemExit(f"generate.py: no Java type is known for {c_type!r}: add it to the tables")
        return java

    def signature(self, function: dict[str, Any], name: str) -> str:
        parameters = [f"{self.java_type(p['type'])} {p['name']}" for p in function["parameters"]]
        line = f"{self.java_type(function['returns'])} {name}({', '.join(parameters)});"
        if len(line) > 108:
            line = line.replace("(", "(\n            ", 1).replace(", ", ",\n            ")
        return line

    def doc(self, text: str, indent: int) -> None:
        words, line = first_sentence(text).split(" "), ""
        lines = []
        for word in words:
            if line and indent + len(line) + len(word) > 114:
                lines.append(line)
                line = ""
            line = f"{line} {word}" if line else word
        lines.append(line)
        pad = " " * indent
        if len(lines) == 1 and indent + len(line) < 108:
            self.lines.append(f"{pad}/** {line} */")
        else:
            self.lines += [f"{pad}/**", *(f"{pad} * {each}" for each in lines), f"{pad} */"]

    def constants(self) -> None:
        for constant in self.api["constants"]:
            self.doc(constant["doc"], 4)
            self.lines += [f"    int {constant['name']} = {constant['value']};", ""]

    def enums(self) -> None:
        for enum in self.api["enums"]:
            name = java_name(enum["name"])
            self.doc(enum["doc"], 4)
            self.lines.append(f"    enum {name} {{")
            for index, value in enumerate(enum["values"]):
                self.doc(value["doc"], 8)
                end = ";" if index + 1 == len(enum["values"]) else ","
                self.lines.append(f"        {value['name'].removeprefix('SYNCEDMEM_')}({value['value']}){end}")
            self.lines += [
                "",
                "        /** C's number for it. */",
                "        public final int value;",
                "",
                f"        {name}(int value) {{",
                "            this.value = value;",
                "        }",
                "",
                "        /** The one that has this number. */",
                f"        public static {name} of(int value) {{",
                f"            for ({name} each : values()) {{",
                "                if (each.value == value) {",
                "                    return each;",
                "                }",
                "            }",
                f'            throw new IllegalArgumentException(value + " is no {enum["name"]}");',
                "        }",
                "    }",
                "",
            ]

    def opaque(self) -> None:
        for opaque in self.api["opaque"]:
            name = java_name(opaque["name"])
            self.doc(opaque["doc"], 4)
            self.lines += [
                f"    final class {name} extends PointerType {{",
                "        /** NULL. */",
                f"        public {name}() {{}}",
                "",
                "        /** The one at this address. */",
                f"        public {name}(Pointer address) {{",
                "            super(address);",
                "        }",
                "    }",
                "",
            ]

    def structs(self) -> None:
        for struct in self.api["structs"]:
            self.doc(struct["doc"], 4)
            self.lines += [
                "    @Structure.FieldOrder({",
                *(f'        "{field["name"]}",' for field in struct["fields"]),
                "    })",
                f"    final class {java_name(struct['name'])} extends Structure {{",
            ]
            for field in struct["fields"]:
                self.doc(field["doc"], 8)
                # An array of Java would be in the structure itself.
                java = "Pointer" if field["type"] == "const int64_t *" else self.java_type(field["type"])
                self.lines.append(f"        public {java} {field['name']};")
            self.lines += ["    }", ""]

    def callbacks(self) -> None:
        for callback in self.api["callbacks"]:
            self.doc(callback["doc"], 4)
            self.lines += [
                f"    interface {java_name(callback['name'])} extends Callback {{",
                "        /** What C calls. */",
                f"        {self.signature(callback, 'invoke')}",
                "    }",
                "",
            ]

    def functions(self) -> None:
        for function in self.api["functions"]:
            self.doc(function["doc"], 4)
            self.lines += [f"    {self.signature(function, function['name'])}", ""]
        self.lines[-1] = "}"

    def text(self) -> str:
        self.constants()
        self.enums()
        self.opaque()
        self.structs()
        self.callbacks()
        self.functions()
        return "\n".join(self.lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit((__doc__ or "").strip())
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(Writer(json.load(file)).text())
