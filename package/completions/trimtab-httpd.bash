# bash completion of trimtab-httpd: its options, and behind --set its keys and their values, all of which it
# says itself in its help.
_trimtab_httpd() {
    local program=$1 current=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT} key
    # readline takes the = of KEY=VALUE for a word of its own, so look at the line
    if [[ $line =~ --set[[:space:]]+([a-z_]+)=[^[:space:]]*$ ]]; then
        key=${BASH_REMATCH[1]}
        [[ $current == = ]] && current=
        COMPREPLY=($(compgen -W "$("$program" --help 2>/dev/null | awk -v key="$key" '
            found { sub(/;.*/, ""); if (sub(/^ *one of /, "")) { gsub(/,/, ""); print } exit }
            $1 == key && /^  [a-z]/ { found = 1 }')" -- "$current"))
    elif [[ $line =~ --set[[:space:]]+[a-z_]*$ ]]; then
        compopt -o nospace
        COMPREPLY=($(compgen -S = -W "$("$program" --help 2>/dev/null | awk '
            /^In a section/ { exit } /^  [a-z_]+ / { print $1 }')" -- "$current"))
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == -c ]]; then
        compopt -o filenames
        COMPREPLY=($(compgen -f -- "$current"))
    else
        COMPREPLY=($(compgen -W "$("$program" --help 2>/dev/null | awk '
            /^Keys:/ { exit } /^  -/ { sub(/,/, ""); print $1; if ($2 ~ /^-/) print $2 }')" -- "$current"))
    fi
}
complete -F _trimtab_httpd trimtab-httpd
