"""Which package of Debian brings a module that a user's file wants and this machine lacks, or which later
version of the server.

Read from the server's own words when it refuses the file: the module that it could not load, or the directive
or command that none of its modules knows.
"""

import re

_NGINX = {
    r"brotli\w*": ("ngx_brotli", "libnginx-mod-http-brotli-filter"),
    r"\w*_by_lua\w*|lua_\w+|ngx_http_lua_module": ("ngx_http_lua", "libnginx-mod-http-lua"),
    r"more_(set|clear)\w+|ngx_http_headers_more\w*": (
        "headers-more",
        "libnginx-mod-http-headers-more-filter",
    ),
    r"geoip2\w*|ngx_http_geoip2_module": ("ngx_http_geoip2", "libnginx-mod-http-geoip2"),
    r"geoip_\w+|ngx_http_geoip_module": ("ngx_http_geoip", "libnginx-mod-http-geoip"),
    r"(proxy|fastcgi)_cache_purge|ngx_http_cache_purge\w*": ("cache_purge", "libnginx-mod-http-cache-purge"),
    r"fancyindex\w*|ngx_http_fancyindex\w*": ("fancyindex", "libnginx-mod-http-fancyindex"),
    r"echo\w*|ngx_http_echo_module": ("echo", "libnginx-mod-http-echo"),
    r"subs_filter\w*|ngx_http_subs_filter\w*": ("subs_filter", "libnginx-mod-http-subs-filter"),
    r"set_\w+|ngx_http_set_misc\w*": ("set_misc", "libnginx-mod-http-set-misc"),
    r"image_filter\w*|ngx_http_image_filter\w*": ("image_filter", "libnginx-mod-http-image-filter"),
    r"xslt_\w+|xml_entities|ngx_http_xslt\w*": ("xslt", "libnginx-mod-http-xslt-filter"),
    r"modsecurity\w*|ngx_http_modsecurity\w*": ("ModSecurity", "libnginx-mod-http-modsecurity"),
    r"js_(access|filter|preread)|ngx_stream_js_module": ("njs of stream", "libnginx-mod-stream-js"),
    r"js_\w+|ngx_http_js_module": ("njs", "libnginx-mod-http-js"),
    r"ngx_stream_geoip2_module": ("geoip2 of stream", "libnginx-mod-stream-geoip2"),
    r"ngx_stream_geoip_module": ("geoip of stream", "libnginx-mod-stream-geoip"),
    r"auth_pam\w*|ngx_http_auth_pam\w*": ("auth_pam", "libnginx-mod-http-auth-pam"),
    r"dav_ext_\w+|ngx_http_dav_ext\w*": ("dav_ext", "libnginx-mod-http-dav-ext"),
    r"(upload|report|track)_(progress|uploads)\w*|ngx_http_uploadprogress\w*": (
        "uploadprogress",
        "libnginx-mod-http-uploadprogress",
    ),
    r"fair|ngx_http_upstream_fair\w*": ("upstream_fair", "libnginx-mod-http-upstream-fair"),
    r"memc_\w+|ngx_http_memc\w*": ("memc", "libnginx-mod-http-memc"),
    r"srcache_\w+|ngx_http_srcache\w*": ("srcache", "libnginx-mod-http-srcache-filter"),
    r"push_stream\w*|nchan_\w+|ngx_nchan_module": ("nchan", "libnginx-mod-nchan"),
    r"stream|ngx_stream_module": ("stream", "libnginx-mod-stream"),
    r"mail|ngx_mail_module": ("mail", "libnginx-mod-mail"),
    r"rtmp|ngx_rtmp_module": ("rtmp", "libnginx-mod-rtmp"),
    r"pagespeed\w*|vhost_traffic_status\w*|passenger\w*|vts_\w+|acme_\w+|auth_jwt\w*|sticky|zstd\w*|otel_\w+|"
    r"upload_pass\w*|MainRule|BasicRule|SecRulesEnabled": ("one that Debian does not bring", ""),
}
_APACHE = {
    r"(mod_|lib)php[\d.]*(_module)?|php_(admin_)?(value|flag)": ("PHP", "libapache2-mod-php"),
    r"mod_security2|Sec[A-Z]\w+": ("ModSecurity", "libapache2-mod-security2"),
    r"mod_wsgi|WSGI\w+": ("mod_wsgi", "libapache2-mod-wsgi-py3"),
    r"mod_fcgid|Fcgid\w+|FCGI\w+": ("mod_fcgid", "libapache2-mod-fcgid"),
    r"mod_perl|Perl\w+": ("mod_perl", "libapache2-mod-perl2"),
    r"mod_passenger|Passenger\w+": ("Passenger", "libapache2-mod-passenger"),
    r"mod_evasive\w*|DOS\w+": ("mod_evasive", "libapache2-mod-evasive"),
    r"mod_xsendfile|XSendFile\w*": ("mod_xsendfile", "libapache2-mod-xsendfile"),
    r"mod_qos|QS_\w+": ("mod_qos", "libapache2-mod-qos"),
    r"mod_auth_openidc|OIDC\w+": ("mod_auth_openidc", "libapache2-mod-auth-openidc"),
    r"mod_shib|Shib\w+": ("mod_shib", "libapache2-mod-shib"),
    r"mod_jk|Jk\w+": ("mod_jk", "libapache2-mod-jk"),
    r"mod_geoip|GeoIP\w+": ("mod_geoip", "libapache2-mod-geoip"),
    r"mod_(dav_svn|authz_svn)|SVN\w+": ("Subversion", "libapache2-mod-svn"),
    r"mod_\w+": ("one that apache2-bin does not bring", ""),
}
_LIGHTTPD = {
    r"mod_(openssl|gnutls|mbedtls|nss|wolfssl|deflate|maxminddb|webdav)": ("", "lighttpd-mod-{0}"),
    r"mod_authn_(gssapi|pam|sasl)": ("", "lighttpd-mod-authn-{0}"),
    r"mod_(magnet|cml)": ("", "lighttpd-modules-lua"),
    r"mod_(authn_ldap|vhostdb_ldap)": ("", "lighttpd-modules-ldap"),
    r"mod_(authn_mysql|vhostdb_mysql|mysql_vhost)": ("", "lighttpd-modules-mysql"),
    r"mod_(authn_dbi|vhostdb_dbi)": ("", "lighttpd-modules-dbi"),
    r"mod_\w+": ("", ""),
}
# What came later than with Debian 12: the version.
_LATER = {
    "nginx": {
        r"http3\w*|quic\w*": "1.25.0",
        r"http2": "1.25.1",
        r"pass": "1.25.5",
        r"resolve": "1.27.3",
        r"keepalive_min_timeout|ssl_(certificate|object)_cache\w*": "1.27.4",
    },
    "h2o": {
        r"capabilities|busy-poll-map|proxy\.(connect|tunnel|zerocopy)|tcp-reuseport|file\.io_uring|quic-\S+|"
        r"http3-\S+|ssl-offload|self-trace\S*": "2.3",
    },
}
_TABLES = {"nginx": _NGINX, "apache": _APACHE, "lighttpd": _LIGHTTPD}
_LACKING = (
    re.compile(r"unknown directive \"([\w.]+)\""),
    re.compile(r"invalid parameter \"(quic|resolve)\""),
    re.compile(r"unknown command: ([\w.-]+)"),
    re.compile(r"Invalid command '([\w.]+)'"),
    re.compile(r"(?:Cannot load|dlopen\(\) (?:failed for: )?)\s*\"?\S*?([\w.]+)\.so\b"),
)


def wanted_by(said: str) -> str:
    """The module, directive or command that is missing by the server's words; "" where none is."""
    return next((match[1] for pattern in _LACKING if (match := pattern.search(said))), "")


def lacking(target: str, said: str) -> str:
    """A sentence on each module that is missing by the server's words, and its package; "" where none is."""
    wanted = dict.fromkeys(match[1] for pattern in _LACKING for match in pattern.finditer(said))
    return " ".join(filter(None, (_lacking(target, each) for each in wanted)))


def _lacking(target: str, wanted: str) -> str:
    for pattern, version in _LATER.get(target, {}).items():
        if re.fullmatch(pattern, wanted):
            return f"It needs {target} {version} or later."
    for pattern, (module, package) in _TABLES.get(target, {}).items():
        if match := re.fullmatch(pattern, wanted):
            called = module or wanted
            if not package:
                return f"It needs the module {called} ({wanted}), which is not installed here."
            package = package.format(*match.groups()[:1]) if "{0}" in package else package
            return f"It needs the module {called}, of the package {package}, which is not installed here."
    return ""
