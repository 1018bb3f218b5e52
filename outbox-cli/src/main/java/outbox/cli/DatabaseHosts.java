package outbox.cli;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Prevents accidental changes of a database on another machine. The hosts come from the JDBC URL. No name is
 * resolved: every name except localhost counts as another machine until the operator allows it.
 */
final class DatabaseHosts {

    private static final Pattern H2_SERVER = Pattern.compile("jdbc:h2:(?:tcp|ssl):(?://)?([^/;]*).*");
    private static final Pattern AUTHORITY = Pattern.compile("jdbc:[^/]*//([^/?;]*).*");
    private static final Pattern SERVICE = Pattern.compile(".*[?&](service=[^&]*).*");
    private static final Pattern HOST_KEY = Pattern.compile("host=([^,)]+)");

    private DatabaseHosts() {}

    /**
     * Refuses a database that is neither on this machine nor on an allowed host.
     *
     * @param allowed names of hosts, separated by commas
     * @throws SettingsException if the database is refused
     */
    static void requireAllowed(String url, String allowed) {
        List<String> named = Arrays.stream(allowed.toLowerCase(Locale.ROOT).split(",", -1))
                .map(String::strip)
                .toList();
        for (String host : of(url)) {
            if (!isHere(host) && !named.contains(host)) {
                throw new SettingsException(
                        "The database is on " + host + ", not on this machine. If that is the one to"
                                + " change, name it: --allow-host " + host + ", or " + Setting.ALLOW_HOST.key() + ".");
            }
        }
    }

    /**
     * The hosts in lower case. Empty for a database in this process, in a file, or on the default host of the driver,
     * which is this machine.
     */
    static List<String> of(String url) {
        String lower = url.toLowerCase(Locale.ROOT);
        Matcher service = SERVICE.matcher(lower);
        if (service.matches()) {
            return List.of(service.group(1)); // only the driver knows the host of a service name
        }
        Matcher server = (lower.startsWith("jdbc:h2:") ? H2_SERVER : AUTHORITY).matcher(lower);
        if (!server.matches()) {
            return List.of();
        }
        String authority = server.group(1).substring(server.group(1).lastIndexOf('@') + 1);
        List<String> hosts = new ArrayList<>();
        if (authority.contains("=")) {
            HOST_KEY.matcher(authority).results().map(found -> found.group(1)).forEach(hosts::add);
        } else {
            for (String part : authority.split(",", -1)) {
                String host = part.replaceFirst("^\\[(.*)](?::\\d*)?$", "$1").replaceFirst("^([^:]*):\\d*$", "$1");
                if (!host.isBlank()) {
                    hosts.add(host.strip());
                }
            }
        }
        return hosts;
    }

    private static boolean isHere(String host) {
        if (host.equals("localhost")) {
            return true;
        }
        if (!host.matches("[0-9.]+|[0-9a-f:.%]*:[0-9a-z:.%]*")) {
            return false; // a name
        }
        try {
            InetAddress address = InetAddress.getByName(host); // a literal address, so no name server is asked
            return address.isLoopbackAddress() || NetworkInterface.getByInetAddress(address) != null;
        } catch (UnknownHostException | SocketException e) {
            return false;
        }
    }
}
