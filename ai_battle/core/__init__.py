"""The vocabulary: values, events, the one client interface, errors and plug-ins; imports only the standard library."""
