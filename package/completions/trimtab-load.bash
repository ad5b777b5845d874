# bash completion of trimtab-load: its modes, and its options as it says them itself in its help.
_trimtab_load() {
    local program=$1 current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    case $previous in
        --arrivals) COMPREPLY=($(compgen -W "deterministic poisson trace" -- "$current")) ;;
        --http) COMPREPLY=($(compgen -W "1.1 1.0 2" -- "$current")) ;;
        --connection) COMPREPLY=($(compgen -W "keep-alive close" -- "$current")) ;;
        --close) COMPREPLY=($(compgen -W "fin reset" -- "$current")) ;;
        --verify) COMPREPLY=($(compgen -W "none sample all" -- "$current")) ;;
        --sessions | --trace) compopt -o filenames; COMPREPLY=($(compgen -f -- "$current")) ;;
        *)
            if ((COMP_CWORD == 1)); then
                COMPREPLY=($(compgen -W "open closed merge --help --version" -- "$current"))
            elif [[ ${COMP_WORDS[1]} == merge && $current != -* ]]; then
                compopt -o filenames
                COMPREPLY=($(compgen -f -- "$current"))
            else
                COMPREPLY=($(compgen -W "$("$program" --help 2>/dev/null | awk '/^  --/{print $1}')" -- "$current"))
            fi
            ;;
    esac
}
complete -F _trimtab_load trimtab-load
