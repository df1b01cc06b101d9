// SPDX-License-Identifier: BSD-2-Clause
package checks;

import com.sun.jna.Callback;
import com.sun.jna.Pointer;
import com.sun.jna.PointerType;
import com.sun.jna.Structure;
import com.sun.jna.ptr.ByteByReference;
import com.sun.jna.ptr.DoubleByReference;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import syncedmem.SyncedmemLibrary;

/** The description of the API, against what reflection finds in the compiled interface. */
final class Description {
    private final Map<String, Object> api;
    private final Map<String, Class<?>> types = new HashMap<>();

    Description(Path file) throws IOException {
        api = members(Json.parse(Files.readString(file)));
        types.put("void", void.class);
        types.put("bool", boolean.class);
        types.put("uint8_t", byte.class);
        types.put("int", int.class);
        types.put("int32_t", int.class);
        types.put("int64_t", long.class);
        types.put("uint64_t", long.class);
        types.put("size_t", long.class);
        types.put("double", double.class);
        types.put("void *", Pointer.class);
        types.put("const void *", Pointer.class);
        types.put("char *", byte[].class);
        types.put("const char *", String.class);
        types.put("const char **", PointerByReference.class);
        types.put("const char *const *", String[].class);
        types.put("void **", PointerByReference.class);
        types.put("const void **", PointerByReference.class);
        types.put("bool *", ByteByReference.class);
        types.put("int *", IntByReference.class);
        types.put("int32_t *", IntByReference.class);
        types.put("size_t *", LongByReference.class);
        types.put("int64_t *", LongByReference.class);
        types.put("uint64_t *", LongByReference.class);
        types.put("const int64_t *", long[].class);
        types.put("double *", DoubleByReference.class);
        types.put("CUstream_st *", nested("CUstream"));
        for (Map<String, Object> each : list("opaque")) {
            types.putIfAbsent(name(each) + " *", nested(className(name(each))));
            types.put("const " + name(each) + " *", nested(className(name(each))));
            types.put(name(each) + " **", PointerByReference.class);
        }
        for (Map<String, Object> each : list("structs")) {
            types.put(name(each), nested(className(name(each))));
            types.put(name(each) + " *", nested(className(name(each))));
            types.put("const " + name(each) + " *", nested(className(name(each))));
        }
        for (Map<String, Object> each : list("callbacks")) {
            types.put(name(each), nested(className(name(each))));
        }
        for (Map<String, Object> each : list("enums")) {
            types.put(name(each), type(each.get("type")));
            types.put(name(each) + " *", IntByReference.class);
        }
    }

    /** syncedmem_memory_stats_t is MemoryStats, and syncedmem_t Syncedmem. */
    private static String className(String c) {
        StringBuilder name = new StringBuilder();
        for (String word : c.replaceFirst("_s?t$", "").replaceFirst("^syncedmem_", "").split("_")) {
            name.append(word.substring(0, 1).toUpperCase(Locale.ROOT)).append(word.substring(1));
        }
        return name.toString();
    }

    private static Class<?> nested(String name) {
        for (Class<?> nested : SyncedmemLibrary.class.getDeclaredClasses()) {
            if (nested.getSimpleName().equals(name)) {
                return nested;
            }
        }
        throw new AssertionError("the interface has no " + name);
    }

    /** C's functions, as Java would have to declare them, and as it does. */
    void functions() {
        Map<String, String> wanted = new TreeMap<>();
        for (Map<String, Object> each : list("functions")) {
            wanted.put(name(each), signature(each));
        }
        Map<String, String> found = new TreeMap<>();
        for (Method method : SyncedmemLibrary.class.getDeclaredMethods()) {
            // Methods that are not abstract are Java's own.
            if (Modifier.isAbstract(method.getModifiers())) {
                found.put(method.getName(), signature(method));
            }
        }
        Checks.same("functions", wanted, found);
    }

    List<String> functionNames() {
        List<String> names = new ArrayList<>();
        list("functions").forEach(each -> names.add(name(each)));
        return names;
    }

    void numbers() throws ReflectiveOperationException {
        Map<String, Object> wanted = new TreeMap<>();
        Map<String, Object> found = new TreeMap<>();
        for (Map<String, Object> each : list("constants")) {
            wanted.put(name(each), each.get("value"));
        }
        for (Field field : SyncedmemLibrary.class.getDeclaredFields()) {
            if (field.getType() == int.class) {
                found.put(field.getName(), field.getLong(null));
            }
        }
        for (Map<String, Object> each : list("enums")) {
            for (Map<String, Object> value : listed(each.get("values"))) {
                wanted.put(name(value), value.get("value"));
            }
        }
        for (Class<?> nested : SyncedmemLibrary.class.getDeclaredClasses()) {
            if (nested.isEnum()) {
                for (Object constant : nested.getEnumConstants()) {
                    found.put("SYNCEDMEM_" + constant, nested.getField("value").getLong(constant));
                }
            }
        }
        Checks.same("version", api.get("version"), SyncedmemLibrary.VERSION);
        Checks.same("constants", wanted, found);
    }

    /** Structures member by member in their order, callbacks, and opaque types. */
    void types() {
        int structures = 0;
        for (Map<String, Object> each : list("structs")) {
            Class<?> type = type(name(each));
            List<String> wanted = new ArrayList<>();
            List<String> found = new ArrayList<>();
            for (Map<String, Object> field : listed(each.get("fields"))) {
                // An array of Java would be in the structure itself.
                boolean isArray = field.get("type").equals("const int64_t *");
                wanted.add((isArray ? Pointer.class : type(field.get("type"))).getSimpleName() + " " + name(field));
            }
            for (String field : type.getAnnotation(Structure.FieldOrder.class).value()) {
                try {
                    found.add(type.getField(field).getType().getSimpleName() + " " + field);
                } catch (NoSuchFieldException missing) {
                    found.add("nothing called " + field);
                }
            }
            Checks.same(name(each), wanted, found);
            structures++;
        }
        for (Map<String, Object> each : list("callbacks")) {
            Method[] methods = type(name(each)).getDeclaredMethods();
            Checks.same("methods of " + name(each), 1, methods.length);
            Checks.same(name(each), signature(each), signature(methods[0]));
        }
        int opaque = 0;
        int callbacks = 0;
        int found = 0;
        for (Class<?> nested : SyncedmemLibrary.class.getDeclaredClasses()) {
            found += Structure.class.isAssignableFrom(nested) ? 1 : 0;
            opaque += PointerType.class.isAssignableFrom(nested) ? 1 : 0;
            callbacks += Callback.class.isAssignableFrom(nested) ? 1 : 0;
        }
        Checks.same("structures", structures, found);
        Checks.same("opaque types", list("opaque").size(), opaque);
        Checks.same("callbacks", list("callbacks").size(), callbacks);
    }

    private String signature(Map<String, Object> function) {
        StringBuilder signature = new StringBuilder(type(function.get("returns")).getSimpleName()).append(" (");
        for (Map<String, Object> parameter : listed(function.get("parameters"))) {
            signature.append(type(parameter.get("type")).getSimpleName()).append(", ");
        }
        return signature.append(')').toString();
    }

    private static String signature(Method method) {
        StringBuilder signature = new StringBuilder(method.getReturnType().getSimpleName()).append(" (");
        for (Class<?> parameter : method.getParameterTypes()) {
            signature.append(parameter.getSimpleName()).append(", ");
        }
        return signature.append(')').toString();
    }

    private Class<?> type(Object c) {
        Class<?> type = types.get((String) c);
        if (type == null) {
            throw new AssertionError("no Java type is known for " + c);
        }
        return type;
    }

    private List<Map<String, Object>> list(String name) {
        return listed(api.get(name));
    }

    private static String name(Map<String, Object> of) {
        return (String) of.get("name");
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> members(Object object) {
        return (Map<String, Object>) object;
    }

    @SuppressWarnings("unchecked")
    private static List<Map<String, Object>> listed(Object array) {
        return (List<Map<String, Object>>) array;
    }
}
